package io.github.usherservice.client;

import static io.github.usherservice.client.Doors.BEN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Questions that are wrong. None is answered as a wider one: each is refused before anything is sent. */
class StrictnessTest {
  private static final Subject SUBJECT = new Subject(BEN.email(), BEN.app());
  private static final String LONE = "\ud800";

  private static UsherException refused(String field, Executable ask) {
    InvalidQuestionException error = assertThrows(InvalidQuestionException.class, ask, field);
    assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
    assertTrue(error.violations().stream().anyMatch(one -> one.field().equals(field)), () -> field + ": " + error);
    return error;
  }

  private static Executable joined(CompletableFuture<?> asked) {
    return () -> {
      try {
        asked.join();
      } catch (CompletionException error) {
        throw error.getCause();
      }
    };
  }

  /** A client of a listener to which nothing may connect. */
  private static void untouched(java.util.function.Consumer<Usher> ask) throws Exception {
    try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Usher usher = Usher.builder("127.0.0.1:" + listener.getLocalPort()).build()) {
      ask.accept(usher);
      listener.setSoTimeout(50);
      assertThrows(SocketTimeoutException.class, listener::accept);
    }
  }

  @Test
  void everyDoorRefusesAWrongQuestionWithTheSameWords() throws Exception {
    Map<String, List<Question>> wrong =
        Map.of(
            "email", List.of(new Question("", "atelier", "project.access"), new Question(LONE, "atelier", "project.access")),
            "app", List.of(new Question("b@example.com", "", "project.access"), new Question("b@example.com", LONE, "p")),
            "permission", List.of(new Question("b@example.com", "atelier", ""), new Question("b@example.com", "atelier", LONE)),
            "resource.id", List.of(BEN.withResource("project", LONE)),
            "resource.type", List.of(BEN.withResource(LONE, "7")),
            "question", Collections.singletonList(null));
    untouched(usher -> wrong.forEach((field, questions) -> questions.forEach(question -> {
      String said = refused(field, () -> usher.check(question)).getMessage();
      List<Function<Question, CompletableFuture<?>>> async =
          List.of(usher.async()::check, usher.async()::allowed, usher.async()::explain);
      for (var ask : async) assertEquals(said, refused(field, joined(ask.apply(question))).getMessage());
      assertEquals(said, refused(field, () -> usher.allowed(question)).getMessage());
      assertEquals(said, refused(field, () -> usher.explain(question)).getMessage());
      String inBatch = question == null ? "questions[1]" : "questions[1]." + field;
      refused(inBatch, () -> usher.batchCheck(Arrays.asList(BEN, question)));
      if (!field.equals("question")) {
        refused(field, () -> usher.resources(question, "project"));
      }
    })));
  }

  @Test
  void aRecordIsWholeOrNone() {
    assertEquals("INCOMPLETE_RESOURCE", refused("resource.id", () -> new Resource("project", "")).reason());
    assertEquals("INCOMPLETE_RESOURCE", refused("resource.type", () -> new Resource("", "7")).reason());
    refused("resource.id", () -> new Resource("project", null));
    refused("resource.type", () -> BEN.withResource(null, "7"));
    refused("resource", () -> BEN.withResource((Resource) null));
    refused("resource.id", () -> SUBJECT.withResource("project", ""));
    assertEquals(Resource.NONE, new Resource("", ""));
  }

  @Test
  void nothingIsNull() throws Exception {
    refused("email", () -> new Question(null, "a", "p"));
    refused("app", () -> new Subject("b@example.com", null));
    refused("permission", () -> Question.ofEverybody("a", null));
    refused("level", () -> BEN.withLevel(null));
    assertTrue(refused("level", () -> BEN.withLevel(Level.ALLOWED)).getMessage().contains("VIEW or EDIT"));
    untouched(usher -> {
      refused("subject", () -> usher.effective(null));
      refused("permissions", () -> usher.bulkCheck(SUBJECT, null, Level.NONE));
      refused("permissions", () -> usher.bulkCheck(SUBJECT, List.of(), Level.NONE));
      refused("permissions", () -> usher.bulkCheck(SUBJECT, Collections.nCopies(1_001, "p"), Level.NONE));
      refused("permissions[0]", () -> usher.bulkCheck(SUBJECT, Collections.singletonList(null), Level.NONE));
      refused("level", () -> usher.bulkCheck(SUBJECT, List.of("p"), null));
      refused("level", () -> usher.bulkCheck(SUBJECT, List.of("p"), Level.ALLOWED));
      refused("questions", () -> usher.batchCheck(List.of()));
      refused("questions", () -> usher.batchCheck(null));
      refused("email", () -> usher.subjects(BEN));
      refused("type", () -> usher.resources(BEN, ""));
      refused("resource", () -> usher.resources(BEN.withResource("project", "7"), "project"));
      refused("apps[0]", () -> usher.watch(""));
      refused("apps[0]", () -> usher.watch((String) null));
      refused("since", () -> usher.watchAfter(null));
      refused("revision", () -> usher.atLeast(null));
      refused("deadline", () -> usher.within(null));
    });
  }

  @Test
  void noClientIsMadeOfWhatItCannotUse() {
    for (String address : Arrays.asList(null, "", "http://127.0.0.1:8080", "https://usher.example.com")) {
      refused("address", () -> Usher.builder(address));
    }
    refused("key", () -> Usher.builder("127.0.0.1:1").key("from-a-file\n"));
    refused("ca", () -> Usher.builder("127.0.0.1:1").ca(null));
    refused("certificate", () -> Usher.builder("127.0.0.1:1").certificate(null, null));
  }

  @Test
  void readyConnects() {
    try (Usher usher = Usher.builder(Doors.environment("USHER_GRPC")).key(Doors.key()).build()) {
      usher.ready();
      assertTrue(usher.within(Duration.ofSeconds(10)).allowed(BEN));
    }
    try (Usher stranger = Doors.wrong()) {
      assertThrows(DeniedException.class, stranger::ready);
    }
  }

  @Test
  void aWrongPortIsSaid() {
    String rest = Doors.environment("USHER_URL").replace("http://", "");
    try (Usher usher = Usher.builder(rest).key(Doors.key()).deadline(Duration.ofMillis(700)).build()) {
      for (Executable ask : List.<Executable>of(() -> usher.check(BEN), () -> usher.ready(Duration.ofMillis(700)))) {
        UsherException error = assertThrows(UsherException.class, ask);
        assertInstanceOf(UnavailableException.class, error);
        assertTrue(error.getMessage().contains("is it the port of gRPC"), error::getMessage);
      }
    }
  }

  @Test
  void theFirstCallMayConnect() throws Exception {
    String[] service = Doors.environment("USHER_GRPC").split(":");
    try (ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        Usher usher = Usher.builder("127.0.0.1:" + listener.getLocalPort()).key(Doors.key()).build()) {
      Thread slow = new Thread(() -> slowly(listener, service[0], Integer.parseInt(service[1])));
      slow.setDaemon(true);
      slow.start();
      assertTrue(usher.check(BEN).allowed());
      assertFalse(usher.check(BEN.withLevel(Level.EDIT)).revision().isEmpty());
    }
  }

  private static void slowly(ServerSocket listener, String host, int port) {
    try {
      while (true) {
        Socket near = listener.accept();
        Thread.sleep(900);
        Socket far = new Socket(host, port);
        carry(near, far);
        carry(far, near);
      }
    } catch (java.io.IOException | InterruptedException closed) {
      // The test is over.
    }
  }

  private static void carry(Socket from, Socket to) {
    Thread carrier = new Thread(() -> {
      try {
        from.getInputStream().transferTo(to.getOutputStream());
      } catch (java.io.IOException closed) {
        // The test is over.
      }
    });
    carrier.setDaemon(true);
    carrier.start();
  }
}
