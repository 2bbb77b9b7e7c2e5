package com.example;

import com.example.Usher.Answer;
import com.example.Usher.Failure;
import com.example.usher.permission.v1.AccessLevel;
import com.example.usher.permission.v1.BulkCheckRequest;
import com.example.usher.permission.v1.BulkCheckResponse;
import com.example.usher.permission.v1.CheckRequest;
import com.example.usher.permission.v1.CheckResponse;
import com.example.usher.permission.v1.DecisionSource;
import com.example.usher.permission.v1.EffectivePermission;
import com.example.usher.permission.v1.EffectiveRequest;
import com.example.usher.permission.v1.EffectiveResponse;
import com.example.usher.permission.v1.PermissionDecision;
import java.io.File;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Asks Usher about one user in one application: Check, BulkCheck and Effective. */
final class Main {
  private static final String USAGE =
      "usage: java -jar usher-client.jar [EMAIL APP PERMISSION[,PERMISSION...] [any|view|edit [TYPE:ID]]]";
  private static final String[] DEMO = {
    "ben@example.com", "atelier", "project.archive,project.access", "any", "project:1042"
  };
  private static final Map<String, AccessLevel> LEVELS =
      Map.of(
          "any", AccessLevel.ACCESS_LEVEL_UNSPECIFIED,
          "view", AccessLevel.ACCESS_LEVEL_VIEW,
          "edit", AccessLevel.ACCESS_LEVEL_EDIT);

  private record Question(
      String email, String app, List<String> permissions, AccessLevel level, String resourceType, String resourceId) {}

  public static void main(String[] args) throws Exception {
    Optional<Question> question = readQuestion(args.length > 0 ? args : DEMO);
    if (question.isEmpty()) {
      System.err.println(USAGE);
      System.exit(2);
    }
    System.exit(run(question.get()) ? 0 : 1);
  }

  private static boolean run(Question question) throws Exception {
    String address = environment("USHER_GRPC").orElse("localhost:50051");
    Duration deadline = Duration.ofMillis(environment("USHER_DEADLINE_MS").map(Long::valueOf).orElse(500L));
    try (Usher usher =
        new Usher(address, environment("USHER_API_KEY"), environment("USHER_CA").map(File::new), deadline)) {
      if (usher.ready(Duration.ofSeconds(5))) return ask(usher, question);
      System.err.printf("no Usher at %s: no connection within 5 s%n", address);
      return false;
    }
  }

  /** Asks the three questions; false when one got no answer, or when two answers contradict each other. */
  private static boolean ask(Usher usher, Question q) {
    String permission = q.permissions().get(0);
    Answer<CheckResponse> one =
        usher.check(
            CheckRequest.newBuilder()
                .setEmail(q.email())
                .setApp(q.app())
                .setPermission(permission)
                .setResourceType(q.resourceType())
                .setResourceId(q.resourceId())
                .setAccessLevel(q.level())
                .build());
    boolean allowed = one.response().getAllowed();
    show("check", permission, allowed, one.response().getAccessLevel(), one.response().getSource(), one.failure());

    // Read your writes: an answer to a question with min_revision is at least that fresh, whichever instance gives it.
    // Take the revision from an earlier answer, or from the header `usher-revision` of a write.
    String revision = one.response().getRevision();
    Answer<BulkCheckResponse> many =
        usher.bulkCheck(
            BulkCheckRequest.newBuilder()
                .setEmail(q.email())
                .setApp(q.app())
                .addAllPermissions(q.permissions())
                .setResourceType(q.resourceType())
                .setResourceId(q.resourceId())
                .setAccessLevel(q.level())
                .setMinRevision(revision)
                .build());
    Map<String, PermissionDecision> decisions =
        many.response().getResultsList().stream()
            .collect(Collectors.toMap(PermissionDecision::getPermission, Function.identity()));
    for (String code : q.permissions()) {
      // A permission without a decision is a denied one.
      PermissionDecision held = decisions.getOrDefault(code, PermissionDecision.getDefaultInstance());
      show("bulk", code, held.getAllowed(), held.getAccessLevel(), held.getSource(), many.failure());
    }

    Answer<EffectiveResponse> all =
        usher.effective(
            EffectiveRequest.newBuilder()
                .setEmail(q.email())
                .setApp(q.app())
                .setResourceType(q.resourceType())
                .setResourceId(q.resourceId())
                .setMinRevision(revision)
                .build());
    for (EffectivePermission held : all.response().getPermissionsList()) {
      show("effective", held.getCode(), held.getGranted(), held.getAccessLevel(), held.getSource(), Optional.empty());
    }
    if (all.failure().isPresent()) {
      EffectivePermission none = EffectivePermission.getDefaultInstance();
      show("effective", "*", false, none.getAccessLevel(), none.getSource(), all.failure());
    }

    if (one.failure().isPresent() || many.failure().isPresent() || all.failure().isPresent()) return false;
    System.out.println("revision " + all.response().getRevision());
    if (decisions.size() != q.permissions().size()) {
      System.err.printf("%d permissions asked, %d answered%n", q.permissions().size(), decisions.size());
      return false;
    }
    if (many.response().getRevision().equals(revision) && decisions.get(permission).getAllowed() != allowed) {
      System.err.printf("Check and BulkCheck disagree at revision %s%n", revision);
      return false;
    }
    return true;
  }

  private static void show(
      String method, String code, boolean granted, AccessLevel level, DecisionSource source, Optional<Failure> failure) {
    String why =
        failure
            .map(found -> "error=" + found.reason())
            .orElseGet(() -> "level=%s source=%s".formatted(name(level, "ACCESS_LEVEL_"), name(source, "DECISION_SOURCE_")));
    System.out.printf("%-10s %-24s %s %s%n", method, code, granted ? "allowed" : "denied ", why);
    failure.ifPresent(found -> System.err.println(method + ": " + found.message()));
  }

  /** ACCESS_LEVEL_EDIT as `edit`; nothing held and no rule that granted as `none`. */
  private static String name(Enum<?> value, String prefix) {
    if (value.ordinal() == 0) return "none";
    String word = value.name();
    return (word.startsWith(prefix) ? word.substring(prefix.length()) : word).toLowerCase(Locale.ROOT);
  }

  private static Optional<Question> readQuestion(String[] args) {
    String[] words = Arrays.copyOf(args, 5);
    AccessLevel level = LEVELS.get(words[3] == null ? "any" : words[3]);
    if (args.length < 3 || level == null) return Optional.empty();
    // Only the first colon divides: identifiers may hold more of them.
    String[] resource = (words[4] == null ? "" : words[4]).split(":", 2);
    List<String> permissions = Arrays.stream(words[2].split(",")).distinct().toList();
    String resourceId = resource.length > 1 ? resource[1] : "";
    return Optional.of(new Question(words[0], words[1], permissions, level, resource[0], resourceId));
  }

  private static Optional<String> environment(String name) {
    return Optional.ofNullable(System.getenv(name)).filter(value -> !value.isEmpty());
  }
}
