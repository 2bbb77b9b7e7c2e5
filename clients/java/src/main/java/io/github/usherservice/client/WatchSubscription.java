package io.github.usherservice.client;

import static java.util.concurrent.CompletableFuture.delayedExecutor;

import io.github.usherservice.client.internal.usher.permission.v1.PermissionServiceGrpc;
import io.github.usherservice.client.internal.usher.permission.v1.WatchRequest;
import io.github.usherservice.client.internal.usher.permission.v1.WatchResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;

/**
 * One subscriber of a watch, over as many streams as it takes. At most one message is under way, and only on demand: a stream of the
 * service that nobody reads is ended by the service, and opened anew after the last revision that the subscriber got.
 */
final class WatchSubscription implements Flow.Subscription {
  private static final String CANCELED = "The subscriber has canceled.";

  private final Connection connection;
  private final List<String> apps;
  private final Flow.Subscriber<? super Changes> subscriber;

  // Guarded by this.
  private String since;
  private long demand;
  private int failures;
  private boolean isOver;
  private Reader reader;

  WatchSubscription(Connection connection, String since, List<String> apps, Flow.Subscriber<? super Changes> subscriber) {
    this.connection = connection;
    this.since = since;
    this.apps = apps;
    this.subscriber = Objects.requireNonNull(subscriber, "subscriber");
  }

  void begin() {
    subscriber.onSubscribe(this);
    open();
  }

  @Override
  public void request(long count) {
    if (count <= 0) {
      cancel();
      subscriber.onError(new IllegalArgumentException("A subscriber requests at least one message."));
      return;
    }
    synchronized (this) {
      demand = demand + count < 0 ? Long.MAX_VALUE : demand + count;
      pull();
    }
  }

  @Override
  public synchronized void cancel() {
    isOver = true;
    if (reader != null && reader.isStarted) reader.call.cancel(CANCELED, null);
  }

  private void open() {
    Reader opened;
    WatchRequest request;
    synchronized (this) {
      if (isOver) return;
      opened = new Reader(connection.call(PermissionServiceGrpc.getWatchMethod(), CallOptions.DEFAULT));
      reader = opened;
      request = WatchRequest.newBuilder().addAllApps(apps).setSinceRevision(since).build();
    }
    ClientCalls.asyncServerStreamingCall(opened.call, request, opened);
    synchronized (this) {
      opened.isStarted = true;
      if (isOver) opened.call.cancel(CANCELED, null);
      pull();
    }
  }

  /** Asks the stream for a message, where one is wanted. */
  private synchronized void pull() {
    if (isOver || demand == 0 || reader == null || !reader.isStarted || reader.isAsked) return;
    reader.isAsked = true;
    reader.stream.request(1);
  }

  private void take(Reader from, WatchResponse message) {
    Changes changes = Wire.changes(message);
    synchronized (this) {
      if (isOver) return;
      from.isAsked = false;
      demand--;
      failures = 0;
      since = changes.revision();
    }
    try {
      subscriber.onNext(changes);
    } catch (RuntimeException error) {
      // Otherwise the stream would be opened anew, without the message that was refused.
      cancel();
      throw error;
    }
    pull();
  }

  private void end(UsherException error) {
    boolean isClosed = connection.isClosed();
    boolean isForGood = isClosed || !(error instanceof UnavailableException);
    long pause;
    synchronized (this) {
      reader = null;
      if (isOver) return;
      isOver = isForGood;
      pause = Connection.pauseMs(failures++);
    }
    if (isClosed) subscriber.onComplete();
    else if (isForGood) subscriber.onError(error);
    else delayedExecutor(pause, TimeUnit.MILLISECONDS).execute(this::open);
  }

  /** One stream. Its fields are guarded by the subscription. */
  private final class Reader implements ClientResponseObserver<WatchRequest, WatchResponse> {
    private final ClientCall<WatchRequest, WatchResponse> call;
    private ClientCallStreamObserver<WatchRequest> stream;
    private boolean isStarted;
    private boolean isAsked;

    Reader(ClientCall<WatchRequest, WatchResponse> call) {
      this.call = call;
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<WatchRequest> opened) {
      opened.disableAutoRequestWithInitial(0);
      stream = opened;
    }

    @Override
    public void onNext(WatchResponse message) {
      take(this, message);
    }

    @Override
    public void onError(Throwable error) {
      end(Failures.of(error));
    }

    @Override
    public void onCompleted() {
      end(Failures.of(Status.Code.UNAVAILABLE, "The service has ended the stream.", null));
    }
  }
}
