package io.github.usherservice.client;

import static io.github.usherservice.client.Doors.BEN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeout;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.usherservice.client.Doors.Door;
import io.grpc.Status;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TroubleTest {
  private static final Duration AT_ONCE = Duration.ofSeconds(3);

  @ParameterizedTest
  @EnumSource(Door.class)
  void aWrongKeyIsDeniedAndLoggedWithoutTheAddress(Door door) {
    Question archive = new Question(BEN.email(), BEN.app(), "project.archive");
    List<String> lines = new CopyOnWriteArrayList<>();
    Handler handler = new Remember(lines);
    Logger log = Logger.getLogger("io.github.usherservice.client");
    log.addHandler(handler);
    try (Usher stranger = Doors.builder(door).key("a-key-that-nobody-has").build()) {
      UsherException denied = assertThrows(DeniedException.class, () -> stranger.check(BEN));
      assertEquals(Status.Code.UNAUTHENTICATED, denied.code());
      assertFalse(stranger.allowed(archive));
      assertFalse(stranger.async().allowed(archive).join());
    } finally {
      log.removeHandler(handler);
    }
    // Other tests write to the same log, about another permission.
    List<String> own = lines.stream().filter(line -> line.contains("project.archive in atelier: ")).toList();
    assertEquals(2, own.size());
    for (String line : own) {
      assertFalse(line.contains(BEN.email()), line);
      assertFalse(line.contains("Exception"), line);
    }
  }

  @Test
  void aServiceThatIsAwayAllowsNothing() {
    try (Usher away = Doors.away()) {
      assertTimeout(AT_ONCE, () -> {
        String said = assertThrows(UnavailableException.class, () -> away.check(BEN)).getMessage();
        assertTrue(said.contains("Connection refused") && said.contains("127.0.0.1:1 has answered") && said.contains("50051"), said);
        assertEquals(1, said.lines().count());
        assertFalse(away.allowed(BEN));
        assertFalse(away.async().allowed(BEN).join());
      });
    }
  }

  @Test
  void allowedNeverThrows() {
    try (Usher usher = Doors.service()) {
      assertTrue(usher.allowed(BEN));
      Thread.currentThread().interrupt();
      assertFalse(usher.allowed(BEN));
      assertTrue(Thread.interrupted());
      usher.close();
      assertFalse(usher.allowed(BEN));
    }
  }

  @Test
  void aBlackHoleEndsAtTheDeadlineAndIsLeftByItself() throws Exception {
    try (Proxy proxy = new Proxy(port());
        Usher usher = Doors.at(proxy.address()).build()) {
      Usher quick = usher.within(Duration.ofMillis(500));
      assertTrue(usher.allowed(BEN));
      proxy.swallow();
      assertTimeout(AT_ONCE, () -> {
        UsherException error = assertThrows(UnavailableException.class, () -> quick.check(BEN));
        assertEquals(Status.Code.DEADLINE_EXCEEDED, error.code());
        assertFalse(quick.allowed(BEN));
      });
      proxy.lift();
      // Nothing is asked meanwhile: the dead connection is noticed by pings, 15 s after its last sign of life.
      Thread.sleep(18_000);
      assertTrue(usher.within(Duration.ofSeconds(2)).check(BEN).allowed());
    }
  }

  @Test
  void aConnectionThatIsCutIsMadeAnew() throws Exception {
    try (Proxy proxy = new Proxy(port());
        Usher usher = Doors.at(proxy.address()).build()) {
      assertTrue(usher.allowed(BEN));
      proxy.cut();
      assertThrows(UnavailableException.class, () -> usher.within(Duration.ofMillis(300)).check(BEN));
      // grpc-java by itself tries after 1, 2.6, 5, 9, 16 and 26 s.
      Thread.sleep(18_000);
      proxy.mend();
      assertTimeout(Duration.ofSeconds(5), () -> assertTrue(usher.check(BEN).allowed()));
    }
  }

  @Test
  void aCallWrittenWhileItsConnectionClosesIsUnavailable() {
    Status closed = Status.UNKNOWN.withDescription("channel closed");
    UsherException cut = Failures.of(closed.withCause(new ClosedChannelException()).asRuntimeException());
    assertInstanceOf(UnavailableException.class, cut);
    assertEquals(Status.Code.UNAVAILABLE, cut.code());
    assertEquals("channel closed", cut.getMessage());
    // Without a cause it came over the wire: the service has answered.
    assertEquals(UsherException.class, Failures.of(closed.asRuntimeException()).getClass());
  }

  @Test
  void anAuthorityOrACertificateThatIsMissingIsUnavailable() {
    Path ca = Doors.certificates().resolve("ca.crt");
    String edge = Doors.environment("USHER_EDGE");
    List<UsherBuilder> wrong =
        List.of(Doors.at(edge), Doors.at(edge).plaintext(false), Doors.at(edge).ca(ca), Doors.at(edge).ca(ca).plaintext(true));
    for (UsherBuilder builder : wrong) {
      try (Usher usher = builder.deadline(Duration.ofMillis(500)).build()) {
        assertThrows(UnavailableException.class, () -> usher.check(BEN));
      }
    }
    UsherBuilder unreadable = Doors.at(edge).ca(ca.resolveSibling("nothing.crt"));
    assertThrows(UncheckedIOException.class, unreadable::build);
  }

  @Test
  void tlsIsTheDefaultButToLoopback() {
    for (String address : List.of("localhost:1", "127.0.0.1:1", "127.1.2.3:1", "[::1]:1", "dns:///localhost:1")) {
      assertTrue(Usher.builder(address).isCleartext(), address);
    }
    for (String address : List.of("usher.internal:1", "127.0.0.1.example.com:1", "localhost.example.com:1", "10.0.0.1:1", "[::2]:1")) {
      assertFalse(Usher.builder(address).isCleartext(), address);
    }
    assertFalse(Usher.builder("localhost:1").ca(Path.of("ca.crt")).isCleartext());
    assertTrue(Usher.builder("usher.internal:1").plaintext(true).isCleartext());
  }

  @Test
  void theDeadlineIsHalfASecondUnlessGiven() {
    try (Usher usher = Usher.builder("127.0.0.1:1").build()) {
      long since = System.nanoTime();
      assertThrows(UnavailableException.class, () -> usher.check(BEN));
      long first = (System.nanoTime() - since) / 1_000_000;
      assertTrue(first >= 490 && first < AT_ONCE.toMillis(), () -> first + " ms");
      assertThrows(IllegalArgumentException.class, () -> usher.within(Duration.ofMillis(-1)));
    }
    assertThrows(IllegalArgumentException.class, () -> Usher.builder("localhost:1").deadline(Duration.ZERO));
  }

  private static int port() {
    String address = Doors.environment("USHER_GRPC");
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  private static final class Remember extends Handler {
    private final List<String> lines;

    Remember(List<String> lines) {
      this.lines = lines;
    }

    @Override
    public void publish(LogRecord line) {
      lines.add(new SimpleFormatter().formatMessage(line));
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
