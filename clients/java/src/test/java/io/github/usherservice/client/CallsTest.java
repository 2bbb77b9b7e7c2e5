package io.github.usherservice.client;

import static io.github.usherservice.client.Doors.BEN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.usherservice.client.internal.usher.permission.v1.BatchCheckRequest;
import io.github.usherservice.client.internal.usher.permission.v1.BatchCheckResponse;
import io.github.usherservice.client.internal.usher.permission.v1.CheckRequest;
import io.github.usherservice.client.internal.usher.permission.v1.CheckResponse;
import io.github.usherservice.client.internal.usher.permission.v1.ListResourcesRequest;
import io.github.usherservice.client.internal.usher.permission.v1.ListResourcesResponse;
import io.github.usherservice.client.internal.usher.permission.v1.ListSubjectsRequest;
import io.github.usherservice.client.internal.usher.permission.v1.ListSubjectsResponse;
import io.github.usherservice.client.internal.usher.permission.v1.PermissionServiceGrpc;
import io.github.usherservice.client.internal.usher.permission.v1.ResourceScope;
import io.github.usherservice.client.internal.usher.permission.v1.Subject;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a service cannot be made to do on demand. */
class CallsTest {
  private final Fake fake = new Fake();
  private Server server;
  private Usher usher;

  @BeforeEach
  void start() throws IOException {
    server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create()).addService(fake).build().start();
    usher = Usher.builder("127.0.0.1:" + server.getPort()).deadline(Duration.ofSeconds(5)).build();
  }

  @AfterEach
  void stop() {
    usher.close();
    server.shutdownNow();
  }

  @Test
  void unavailableIsTriedAgainWithinTheDeadline() {
    fake.failures = 2;
    fake.failure = Status.UNAVAILABLE;
    assertTrue(usher.check(BEN).allowed());
    assertEquals(3, fake.calls.get());
  }

  @Test
  void otherErrorsAreNotTriedAgain() {
    fake.failures = 2;
    fake.failure = Status.INTERNAL;
    UsherException error = assertThrows(UsherException.class, () -> usher.check(BEN));
    assertEquals(UsherException.class, error.getClass());
    assertEquals(List.of("INTERNAL", "INTERNAL"), List.of(error.code().name(), error.reason()));
    assertEquals(1, fake.calls.get());
  }

  @Test
  void theStackTraceIsThatOfTheCaller() {
    fake.failures = 1;
    fake.failure = Status.INTERNAL;
    UsherException error = assertThrows(UsherException.class, () -> usher.check(BEN));
    assertTrue(List.of(error.getStackTrace()).stream().anyMatch(frame -> frame.getClassName().contains("CallsTest")));
  }

  @Test
  void aCanceledFutureCancelsTheCall() throws InterruptedException {
    fake.isSilent = true;
    List<CompletableFuture<?>> futures =
        List.of(usher.async().check(BEN), usher.async().allowed(BEN), usher.async().check(BEN).orTimeout(1, TimeUnit.MILLISECONDS));
    assertTrue(fake.asked.await(5, TimeUnit.SECONDS));
    assertTrue(futures.get(0).cancel(true) && futures.get(1).cancel(true));
    assertTrue(fake.canceled.await(2, TimeUnit.SECONDS), "the deadline would be 5 s");
  }

  @Test
  void anInterruptEndsTheWait() throws InterruptedException {
    fake.isSilent = true;
    CompletableFuture<Status.Code> code = new CompletableFuture<>();
    Thread thread = new Thread(() -> {
      UsherException error = assertThrows(UnavailableException.class, () -> usher.check(BEN));
      code.complete(Thread.currentThread().isInterrupted() ? error.code() : Status.Code.OK);
    });
    thread.start();
    thread.interrupt();
    assertEquals(Status.Code.CANCELLED, code.orTimeout(2, TimeUnit.SECONDS).join());
  }

  @Test
  void fewerAnswersThanQuestionsAreAnError() {
    UsherException error = assertThrows(UsherException.class, () -> usher.batchCheck(List.of(BEN, BEN)));
    assertEquals(Status.Code.INTERNAL, error.code());
  }

  @Test
  void pagesFollowEachOther() {
    Question question = Question.ofEverybody(BEN.app(), BEN.permission());
    assertEquals(List.of("0", "1", "2"), usher.subjects(question).map(Holder::email).toList());
    assertEquals("0", usher.subjects(question).findFirst().orElseThrow().email());
    assertEquals(4, fake.calls.get(), "the second listing needs its first page alone");
    assertEquals(new Reach(false, List.of("0", "1", "2"), "r2"), usher.resources(BEN, "project"));
  }

  @Test
  void valuesOfANewerServiceAreNothing() {
    fake.level = 9;
    Decision decision = usher.check(BEN);
    assertEquals(List.of(Level.NONE, Source.NONE), List.of(decision.level(), decision.source()));
    assertFalse(decision.revision().isEmpty());
  }

  private static final class Fake extends PermissionServiceGrpc.PermissionServiceImplBase {
    private static final int LAST_PAGE = 2;
    final AtomicInteger calls = new AtomicInteger();
    final CountDownLatch asked = new CountDownLatch(2);
    final CountDownLatch canceled = new CountDownLatch(2);
    volatile int failures;
    volatile Status failure;
    volatile boolean isSilent;
    volatile int level = 3;

    @Override
    public void check(CheckRequest request, StreamObserver<CheckResponse> answer) {
      ((ServerCallStreamObserver<CheckResponse>) answer).setOnCancelHandler(canceled::countDown);
      asked.countDown();
      if (isSilent) return;
      if (calls.incrementAndGet() <= failures) {
        answer.onError(failure.asRuntimeException());
        return;
      }
      send(answer, CheckResponse.newBuilder().setAllowed(true).setAccessLevelValue(level).setSourceValue(level * 3).setRevision("r").build());
    }

    @Override
    public void batchCheck(BatchCheckRequest request, StreamObserver<BatchCheckResponse> answer) {
      send(answer, BatchCheckResponse.getDefaultInstance());
    }

    @Override
    public void listSubjects(ListSubjectsRequest request, StreamObserver<ListSubjectsResponse> answer) {
      calls.incrementAndGet();
      int page = pageOf(request.getPageToken());
      Subject one = Subject.newBuilder().setEmail(Integer.toString(page)).build();
      send(answer, ListSubjectsResponse.newBuilder().addSubjects(one).setNextPageToken(after(page)).build());
    }

    @Override
    public void listResources(ListResourcesRequest request, StreamObserver<ListResourcesResponse> answer) {
      int page = pageOf(request.getPageToken());
      send(
          answer,
          ListResourcesResponse.newBuilder()
              .setScope(ResourceScope.RESOURCE_SCOPE_ONLY)
              .addResourceIds(Integer.toString(page))
              .setNextPageToken(after(page))
              .setRevision("r" + page)
              .build());
    }

    private static int pageOf(String token) {
      return token.isEmpty() ? 0 : Integer.parseInt(token);
    }

    private static String after(int page) {
      return page == LAST_PAGE ? "" : Integer.toString(page + 1);
    }

    private static <T> void send(StreamObserver<T> answer, T message) {
      answer.onNext(message);
      answer.onCompleted();
    }
  }
}
