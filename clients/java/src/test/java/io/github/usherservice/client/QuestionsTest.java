package io.github.usherservice.client;

import static io.github.usherservice.client.Doors.BEN;
import static io.github.usherservice.client.Doors.STRANGER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.usherservice.client.Doors.Door;
import io.grpc.Status;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

@ParameterizedClass
@EnumSource(Door.class)
class QuestionsTest {
  private static final Subject SUBJECT = new Subject(BEN.email(), BEN.app());
  private static final Question OF_A_STRANGER = new Question(STRANGER, BEN.app(), BEN.permission());
  private static final Set<String> CODES = Set.of("project.access", "invoice.access");

  private final Usher usher;

  QuestionsTest(Door door) {
    usher = Doors.builder(door).build();
  }

  @AfterEach
  void close() {
    usher.close();
  }

  @Test
  void aCheckHasLevelSourceAndRevision() {
    Decision decision = usher.check(BEN.withResource("project", "1042").withLevel(Level.EDIT));
    assertEquals(new Decision(true, Level.EDIT, Source.ROLE, decision.revision()), decision);
    assertFalse(decision.revision().isEmpty());
    Decision denied = usher.check(OF_A_STRANGER);
    assertEquals(new Decision(false, Level.NONE, Source.NONE, denied.revision()), denied);
  }

  @Test
  void manyQuestionsAreAnsweredAtOneRevision() {
    Map<String, Decision> many = usher.bulkCheck(SUBJECT, CODES, Level.NONE);
    assertEquals(CODES, many.keySet());
    assertTrue(many.get("project.access").allowed());
    assertFalse(many.get("invoice.access").allowed());
    List<Decision> batch = usher.batchCheck(List.of(BEN, OF_A_STRANGER));
    assertEquals(List.of(true, false), batch.stream().map(Decision::allowed).toList());
    assertEquals(1, batch.stream().map(Decision::revision).distinct().count());
  }

  @Test
  void effectiveListsWhatIsHeld() {
    Effective effective = usher.effective(SUBJECT.withResource("project", "1042"));
    Map<String, Held> held = effective.permissions().stream().collect(Collectors.toMap(Held::permission, one -> one));
    assertEquals(Level.EDIT, held.get("project.access").level());
    assertTrue(held.get("project.access").tiered());
    assertEquals(Source.OVERRIDE, held.get("project.archive").source());
    assertFalse(held.get("invoice.access").allowed());
    assertFalse(effective.revision().isEmpty());
  }

  @Test
  void anExplanationHasSixRules() {
    Explanation explanation = usher.explain(BEN);
    assertTrue(explanation.decision().allowed());
    assertEquals(List.of(1, 2, 3, 4, 5, 6), explanation.rules().stream().map(RuleResult::rule).toList());
    assertEquals(List.of(5), explanation.rules().stream().filter(RuleResult::decides).map(RuleResult::rule).toList());
    assertTrue(explanation.applicationKnown() && explanation.permissionKnown());
    assertFalse(usher.explain(new Question(STRANGER, "nowhere", "nothing")).applicationKnown());
  }

  @Test
  void subjectsAreThoseWhoMay() {
    Set<String> who =
        usher.subjects(Question.ofEverybody(BEN.app(), BEN.permission())).map(Holder::email).collect(Collectors.toSet());
    assertTrue(who.contains(BEN.email()), who::toString);
    assertFalse(who.contains(STRANGER));
  }

  @Test
  void resourcesAreAllButOrOnlyThose() {
    Reach all = usher.resources(BEN, "project");
    assertTrue(all.all());
    Reach only = usher.resources(new Question(STRANGER, BEN.app(), BEN.permission()), "project");
    assertFalse(only.all());
    assertEquals(List.of(), only.resourceIds());
  }

  @Test
  void anAnswerIsAsFreshAsAsked() {
    String revision = usher.check(BEN).revision();
    assertTrue(usher.atLeast(revision).allowed(BEN));
    UsherException refused =
        assertThrows(InvalidQuestionException.class, () -> usher.atLeast("999999.x").check(BEN));
    assertEquals("UNKNOWN_REVISION", refused.reason());
  }

  @Test
  void refusalsNameFieldAndReason() {
    UsherException noAddress =
        assertThrows(
            InvalidQuestionException.class, () -> usher.check(new Question("", BEN.app(), BEN.permission())));
    assertEquals(List.of("email"), noAddress.violations().stream().map(Violation::field).toList());
    // Refused here: nothing was sent.
    assertTrue(noAddress.requestId().isEmpty());
    UsherException tooLong =
        assertThrows(
            InvalidQuestionException.class,
            () -> usher.check(new Question("a".repeat(400) + "@example.com", BEN.app(), BEN.permission())));
    assertTrue(tooLong.requestId().isPresent());
    UsherException half =
        assertThrows(InvalidQuestionException.class, () -> usher.check(BEN.withResource("project", "")));
    assertEquals(Status.Code.INVALID_ARGUMENT, half.code());
    assertEquals("INCOMPLETE_RESOURCE", half.reason());
    assertThrows(InvalidQuestionException.class, () -> usher.allowed(BEN.withResource("", "1042")));
  }

  @Test
  void futuresHaveTheSameAnswers() {
    AsyncUsher async = usher.async();
    List<CompletableFuture<Boolean>> answers = IntStream.range(0, 200).mapToObj(n -> async.allowed(BEN)).toList();
    assertTrue(answers.stream().allMatch(CompletableFuture::join));
    assertEquals(usher.check(BEN).level(), async.check(BEN).join().level());
    assertEquals(CODES, async.bulkCheck(SUBJECT, CODES, Level.NONE).join().keySet());
    assertEquals(2, async.batchCheck(List.of(BEN, BEN)).join().size());
    assertFalse(async.effective(SUBJECT).join().permissions().isEmpty());
    assertTrue(async.explain(BEN).join().permissionKnown());
    SubjectsPage page = async.subjects(Question.ofEverybody(BEN.app(), BEN.permission())).join();
    assertTrue(page.holders().stream().anyMatch(one -> one.email().equals(BEN.email())));
    assertTrue(page.next().isEmpty());
    assertTrue(async.resources(BEN, "project").join().all());
  }

  @Test
  void threadsShareAConnection() {
    assertTrue(IntStream.range(0, 50).parallel().allMatch(n -> usher.allowed(BEN)));
  }

  @Test
  void aWatchBeginsWithTheNewestRevision() {
    try (var changes = usher.watch()) {
      Changes first = changes.findFirst().orElseThrow();
      assertFalse(first.revision().isEmpty());
      assertFalse(first.reset());
      assertEquals(List.of(), first.changes());
    }
    try (var changes = usher.watchAfter("nonsense")) {
      assertThrows(InvalidQuestionException.class, changes::findFirst);
    }
  }
}
