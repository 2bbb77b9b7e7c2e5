package io.github.usherservice.client;

import static java.util.concurrent.CompletableFuture.delayedExecutor;

import io.github.usherservice.client.internal.usher.permission.v1.PermissionServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.stub.MetadataUtils;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** One channel, with the key in each call. */
final class Connection implements AutoCloseable {
  private static final String VERSION = "0.1.0";
  private static final long RECONNECT_MS = 2_000;
  private static final long AGAIN_MS = 100;
  private static final long MOST_AGAIN_MS = 5_000;
  private static final int MOST_DOUBLINGS = 6;

  /**
   * While a call is UNAVAILABLE it is tried again, after a pause of random length, within its deadline: questions only read. In an
   * outage the throttle stops the retries, instead of multiplying the load. Numbers are doubles, as in JSON: gRPC insists.
   */
  private static final Map<String, ?> SERVICE_CONFIG =
      Map.of(
          "methodConfig",
          List.of(
              Map.of(
                  "name",
                  List.of(Map.of("service", PermissionServiceGrpc.SERVICE_NAME)),
                  "retryPolicy",
                  Map.of(
                      "maxAttempts", 4.0,
                      "initialBackoff", "0.05s",
                      "maxBackoff", "0.2s",
                      "backoffMultiplier", 2.0,
                      "retryableStatusCodes", List.of("UNAVAILABLE")))),
          "retryThrottling",
          Map.of("maxTokens", 10.0, "tokenRatio", 0.1));

  private static final Metadata.Key<String> KEY = Metadata.Key.of("x-internal-api-key", Metadata.ASCII_STRING_MARSHALLER);

  private final ManagedChannel channel;
  final Beginning beginning;

  Connection(String address, ChannelCredentials credentials, boolean isCleartext, Optional<String> key) {
    Metadata metadata = new Metadata();
    key.ifPresent(value -> metadata.put(KEY, value));
    channel =
        Grpc.newChannelBuilder(address, credentials)
            .defaultServiceConfig(SERVICE_CONFIG)
            .intercept(MetadataUtils.newAttachHeadersInterceptor(metadata))
            .userAgent("usher-java/" + VERSION)
            // A dead peer is noticed within 15 s, also while nothing is asked.
            .keepAliveTime(10, TimeUnit.SECONDS)
            .keepAliveTimeout(5, TimeUnit.SECONDS)
            .keepAliveWithoutCalls(true)
            .build();
    beginning = new Beginning(channel, address, isCleartext);
    follow(ConnectivityState.IDLE);
  }

  /** A call that waits for the connection. */
  <Q, A> ClientCall<Q, A> call(MethodDescriptor<Q, A> method, CallOptions options) {
    return channel.newCall(method, options.withWaitForReady());
  }

  boolean isClosed() {
    return channel.isShutdown();
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }

  /** grpc-java waits up to 2 min between attempts to connect, and has no option for it. Here it is 2 s at most, of random length. */
  private void follow(ConnectivityState state) {
    if (state == ConnectivityState.SHUTDOWN) return;
    if (state == ConnectivityState.TRANSIENT_FAILURE) reconnectLater();
    channel.notifyWhenStateChanged(state, () -> follow(channel.getState(false)));
  }

  private void reconnectLater() {
    long pause = RECONNECT_MS / 2 + ThreadLocalRandom.current().nextLong(RECONNECT_MS / 2);
    delayedExecutor(pause, TimeUnit.MILLISECONDS).execute(this::reconnect);
  }

  /** The state may stay TRANSIENT_FAILURE over many attempts, so it is read again after each. */
  private void reconnect() {
    if (channel.getState(false) != ConnectivityState.TRANSIENT_FAILURE) return;
    channel.resetConnectBackoff();
    reconnectLater();
  }

  /** Longer with each failure, of random length. */
  static long pauseMs(int failures) {
    long full = Math.min(MOST_AGAIN_MS, AGAIN_MS << Math.min(failures, MOST_DOUBLINGS));
    return full / 2 + ThreadLocalRandom.current().nextLong(full / 2);
  }
}
