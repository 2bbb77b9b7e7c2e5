package io.github.usherservice.client;

import static io.github.usherservice.client.Doors.BEN;
import static io.github.usherservice.client.Doors.STRANGER;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.usherservice.client.Doors.Door;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(180)
class WatchTest {
  private static final Change OF_THE_STRANGER =
      new Change(Change.Kind.MEMBER, Optional.of(BEN.app()), Optional.of(STRANGER));

  @ParameterizedTest
  @EnumSource(Door.class)
  void aChangeIsReported(Door door) throws Exception {
    try (Usher usher = Doors.builder(door).build();
        Stream<Changes> stream = usher.watch(BEN.app(), BEN.app())) {
      Iterator<Changes> changes = stream.iterator();
      String before = changes.next().revision();
      write("grant");
      Changes change = nextOf(changes);
      assertEquals(List.of(OF_THE_STRANGER), change.changes());
      write("revoke");
      nextOf(changes);
      try (Stream<Changes> again = usher.watchAfter(before)) {
        assertEquals(List.of(OF_THE_STRANGER), nextOf(again.iterator()).changes());
      }
    }
  }

  @Test
  void whatChangedWhileThePathWasCutIsReported() throws Exception {
    try (Proxy proxy = proxy();
        Usher usher = Doors.at(proxy.address()).build();
        Stream<Changes> stream = usher.watch()) {
      Iterator<Changes> changes = stream.iterator();
      assertFalse(changes.next().reset());
      proxy.cut();
      write("grant");
      proxy.mend();
      Changes change = nextOf(changes);
      assertEquals(List.of(OF_THE_STRANGER), change.changes());
      write("revoke");
      assertFalse(nextOf(changes).reset());
    }
  }

  @Test
  void aBlackHoleInTheMiddleOfAWatchIsLeftByItself() throws Exception {
    try (Proxy proxy = proxy();
        Usher usher = Doors.at(proxy.address()).build();
        Stream<Changes> stream = usher.watch()) {
      Iterator<Changes> changes = stream.iterator();
      assertFalse(changes.next().reset());
      proxy.swallow();
      write("grant");
      proxy.lift();
      assertEquals(List.of(OF_THE_STRANGER), nextOf(changes).changes());
      write("revoke");
      nextOf(changes);
    }
  }

  @Test
  void aRestartInTheMiddleOfAWatchLosesNothing(@TempDir Path data) throws Exception {
    Service first = Service.start(data, 0);
    String key = Files.readString(data.resolve("internal-api-key"));
    try (Usher usher = Doors.at(first.grpc).key(key).build();
        Stream<Changes> stream = usher.watch()) {
      Iterator<Changes> changes = stream.iterator();
      changes.next();
      Service.run(data, first.http, "grant", STRANGER, BEN.app(), "accountant");
      String granted = nextOf(changes).revision();
      first.kill();
      assertFalse(usher.within(Duration.ofMillis(300)).allowed(BEN));
      try (Service second = Service.start(data, first.port())) {
        Service.run(data, second.http, "revoke", STRANGER, BEN.app(), "accountant");
        Changes revoked = nextOf(changes);
        assertEquals(List.of(OF_THE_STRANGER), revoked.changes());
        assertFalse(revoked.reset());
        assertTrue(usher.atLeast(revoked.revision()).allowed(BEN));
        try (Stream<Changes> again = usher.watchAfter(granted)) {
          assertEquals(revoked.revision(), nextOf(again.iterator()).revision());
        }
      }
    } finally {
      first.kill();
    }
  }

  @Test
  void aSubscriberGetsOnlyTheMessagesThatItRequests() throws Exception {
    try (Usher usher = Doors.service()) {
      Recorder recorder = new Recorder();
      usher.async().watch("", List.of()).subscribe(recorder);
      assertEquals(null, recorder.signals.poll(3, TimeUnit.SECONDS));
      recorder.subscription.request(2);
      assertTrue(recorder.signals.poll(5, TimeUnit.SECONDS) instanceof Changes);
      assertTrue(recorder.signals.poll(5, TimeUnit.SECONDS) instanceof Changes);
      assertEquals(null, recorder.signals.poll(3, TimeUnit.SECONDS));
      recorder.subscription.request(Long.MAX_VALUE);
      recorder.subscription.request(Long.MAX_VALUE);
      assertTrue(recorder.signals.poll(5, TimeUnit.SECONDS) instanceof Changes);
      usher.close();
      while (recorder.signals.poll(5, TimeUnit.SECONDS) instanceof Changes changes) assertFalse(changes.reset());
      assertTrue(recorder.isCompleted.isDone());
    }
  }

  @Test
  void nothingIsAMistake() throws Exception {
    try (Usher usher = Doors.service()) {
      Recorder recorder = new Recorder();
      usher.async().watch("", List.of()).subscribe(recorder);
      recorder.subscription.request(0);
      assertTrue(recorder.signals.poll(1, TimeUnit.SECONDS) instanceof IllegalArgumentException);
      Recorder refused = new Recorder();
      usher.async().watch("nonsense", List.of()).subscribe(refused);
      assertTrue(refused.signals.poll(5, TimeUnit.SECONDS) instanceof InvalidQuestionException);
    }
  }

  @Test
  void aReaderThatWaitsIsEndedByCloseAndByInterrupt() throws Exception {
    try (Usher usher = Doors.away()) {
      Stream<Changes> stream = usher.watch();
      CompletableFuture<Boolean> hasNext = CompletableFuture.supplyAsync(() -> stream.iterator().hasNext());
      assertThrows(java.util.concurrent.TimeoutException.class, () -> hasNext.get(500, TimeUnit.MILLISECONDS));
      stream.close();
      assertFalse(hasNext.get(2, TimeUnit.SECONDS));
      Thread.currentThread().interrupt();
      try (Stream<Changes> interrupted = usher.watch()) {
        assertThrows(UnavailableException.class, interrupted::findFirst);
      }
      assertTrue(Thread.interrupted());
    }
  }

  private static Proxy proxy() throws java.io.IOException {
    String address = Doors.environment("USHER_GRPC");
    return new Proxy(Integer.parseInt(address.substring(address.lastIndexOf(':') + 1)));
  }

  private static void write(String command) throws Exception {
    Path data = Path.of(Doors.environment("USHER_DATA"));
    Service.run(data, Doors.environment("USHER_URL"), command, STRANGER, BEN.app(), "accountant");
  }

  /** The next message with changes. */
  private static Changes nextOf(Iterator<Changes> changes) {
    while (true) {
      Changes next = changes.next();
      assertFalse(next.reset());
      if (!next.changes().isEmpty()) return next;
    }
  }

  private static final class Recorder implements Flow.Subscriber<Changes> {
    final BlockingQueue<Object> signals = new LinkedBlockingQueue<>();
    final CompletableFuture<Boolean> isCompleted = new CompletableFuture<>();
    Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
    }

    @Override
    public void onNext(Changes changes) {
      signals.add(changes);
    }

    @Override
    public void onError(Throwable error) {
      signals.add(error);
    }

    @Override
    public void onComplete() {
      isCompleted.complete(true);
    }
  }
}
