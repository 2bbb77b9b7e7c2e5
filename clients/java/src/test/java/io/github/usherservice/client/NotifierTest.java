package io.github.usherservice.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.grpc.Status;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NotifierTest {
  private static final Notification PLAIN = new Notification("atelier", "ben@example.com").withSubject("Drawings");
  private static final String STORED =
      "202 {\"success\":true,\"data\":{\"notifications\":[{\"id\":1,\"email\":\"a@b.example\",\"status\":\"queued\",\"statusReason\":null}]}}";

  private static NotifierBuilder service() {
    return Notifier.builder(Doors.environment("USHER_URL")).key(Doors.key()).deadline(Duration.ofSeconds(10));
  }

  /** Answers what it is told, then 503, and keeps what it was sent. */
  private static final class Line implements AutoCloseable {
    private final HttpServer server;
    final List<String> sent = new CopyOnWriteArrayList<>();

    Line(String... told) throws IOException {
      Deque<String> answers = new ArrayDeque<>(Arrays.asList(told));
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      server.createContext("/", exchange -> {
        sent.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
        String answer = answers.isEmpty() ? "503 {\"message\":\"Away.\"}" : answers.pop();
        byte[] body = answer.substring(4).getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(Integer.parseInt(answer.substring(0, 3)), body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
      });
      server.start();
    }

    NotifierBuilder notifier() {
      return Notifier.builder("http://127.0.0.1:" + server.getAddress().getPort()).key("k");
    }

    @Override
    public void close() {
      server.stop(0);
    }
  }

  @Test
  void isStoredOnce() {
    Notifier notifier = service().build();
    Notification drawings = PLAIN.withIdempotencyKey(UUID.randomUUID().toString());
    List<Accepted> first = notifier.notify(drawings);
    assertEquals("ben@example.com", first.get(0).email());
    assertEquals(first.get(0).id(), notifier.notifyAsync(drawings).join().get(0).id());
    UsherException reused = assertThrows(UsherException.class, () -> notifier.notify(drawings.withSubject("Others")));
    assertEquals(Status.Code.ALREADY_EXISTS, reused.code());
    assertEquals("IDEMPOTENCY_KEY_REUSED", reused.reason());
    assertTrue(reused.requestId().isPresent());
  }

  @Test
  void refusalsNameTheField() {
    var wrong = assertThrows(InvalidQuestionException.class, () -> service().build().notify(new Notification("atelier", "no address")));
    assertEquals("recipients.0", wrong.violations().get(0).field());
    assertThrows(DeniedException.class, () -> service().key("a-key-that-nobody-has").build().notify(PLAIN));
  }

  @Test
  void withAKeyOfItsOwnItIsSentAgainAsItWas() throws IOException {
    try (Line line = new Line("503 {}", "502 <html>", STORED)) {
      Notification whole =
          new Notification("a", List.of("a@b.example")).withType("t").withSubject("s").withBody("b").withUrl("/u").withIcon("/i")
              .withLocale("cs").withTemplateKey("k").withPayload(Map.of("n", 1)).withIdempotencyKey("x");
      Accepted accepted = line.notifier().build().notify(whole).get(0);
      assertEquals("queued", accepted.status());
      assertTrue(accepted.statusReason().isEmpty());
      assertEquals(3, line.sent.size());
      assertEquals(1, line.sent.stream().distinct().count());
      for (String part : List.of("\"appCode\":\"a\"", "\"templateKey\":\"k\"", "\"payload\":{\"n\":1}", "\"icon\":\"/i\"")) {
        assertTrue(line.sent.get(0).contains(part), part);
      }
    }
  }

  @Test
  void withoutOneAndAfterARefusalNothingIsSentAgain() throws IOException {
    try (Line line = new Line("503 {\"message\":\"Away.\"}", "413 {\"message\":\"Too large.\"}")) {
      Notifier notifier = line.notifier().build();
      assertEquals("Away.", assertThrows(UnavailableException.class, () -> notifier.notify(PLAIN)).getMessage());
      Notification again = PLAIN.withIdempotencyKey("x");
      assertEquals("Too large.", assertThrows(UsherException.class, () -> notifier.notify(again)).getMessage());
      assertEquals(2, line.sent.size());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "localhost:8080", "https://example.com/usher", "ftp://example.com", "https://exa mple.com"})
  void refusesWhatIsNoGateway(String url) {
    var wrong = assertThrows(InvalidQuestionException.class, () -> Notifier.builder(url));
    assertEquals("url", wrong.violations().get(0).field());
  }

  @Test
  void refusesWhatItCannotSend() throws IOException {
    try (Line line = new Line()) {
      assertThrows(InvalidQuestionException.class, () -> Notifier.builder("https://usher.example.com").build());
      assertThrows(InvalidQuestionException.class, () -> line.notifier().key("two\nlines"));
      assertThrows(InvalidQuestionException.class, () -> new Notification("", "a@b.example"));
      assertThrows(InvalidQuestionException.class, () -> new Notification("a", List.of()));
      assertThrows(InvalidQuestionException.class, () -> line.notifier().build().notify(null));
      Notification endless = PLAIN.withPayload(Map.of("n", Double.NaN));
      assertThrows(InvalidQuestionException.class, () -> line.notifier().build().notify(endless));
      assertTrue(line.sent.isEmpty());
    }
  }

  @Test
  void saysThatAnAddressIsNotThatOfRest() throws IOException {
    try (Line line = new Line("200 a page", "200 {}")) {
      List<NotifierBuilder> wrong =
          List.of(line.notifier(), line.notifier(), Notifier.builder("http://" + Doors.environment("USHER_GRPC")).key("k"),
              Notifier.builder("http://127.0.0.1:1").key("k"));
      for (NotifierBuilder builder : wrong) {
        Notifier notifier = builder.deadline(Duration.ofSeconds(3)).build();
        var thrown = assertThrows(CompletionException.class, () -> notifier.notifyAsync(PLAIN).join());
        assertTrue(assertInstanceOf(UnavailableException.class, thrown.getCause()).getMessage().contains("8080"));
      }
    }
  }
}
