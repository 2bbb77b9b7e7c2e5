package com.example;

import com.example.usher.permission.v1.BulkCheckRequest;
import com.example.usher.permission.v1.BulkCheckResponse;
import com.example.usher.permission.v1.CheckRequest;
import com.example.usher.permission.v1.CheckResponse;
import com.example.usher.permission.v1.EffectiveRequest;
import com.example.usher.permission.v1.EffectiveResponse;
import com.example.usher.permission.v1.PermissionServiceGrpc;
import com.example.usher.permission.v1.PermissionServiceGrpc.PermissionServiceBlockingStub;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import io.grpc.ChannelCredentials;
import io.grpc.ConnectivityState;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** The permission service. Make one for the whole process: it holds one connection, shared by all calls of all threads. */
final class Usher implements AutoCloseable {
  /**
   * While a call is UNAVAILABLE it is retried, with back-off, within its deadline. Questions only read, so a second try is
   * safe. During an outage the throttle stops the retries, instead of tripling the load. (Numbers are doubles, as in JSON: gRPC insists.)
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
                      "maxAttempts", 3.0,
                      "initialBackoff", "0.05s",
                      "maxBackoff", "0.2s",
                      "backoffMultiplier", 2.0,
                      "retryableStatusCodes", List.of("UNAVAILABLE")))),
          "retryThrottling",
          Map.of("maxTokens", 10.0, "tokenRatio", 0.1));

  private static final Metadata.Key<String> KEY = Metadata.Key.of("x-internal-api-key", Metadata.ASCII_STRING_MARSHALLER);

  /**
   * Why there is no answer.
   *
   * @param reason stable: google.rpc.ErrorInfo's, else the name of the gRPC status
   * @param message for people
   */
  record Failure(String reason, String message) {}

  /** An answer, or a failure beside an empty message, which reads as "denied". */
  record Answer<T>(T response, Optional<Failure> failure) {}

  private final ManagedChannel channel;
  private final PermissionServiceBlockingStub stub;
  private final Duration deadline;

  /**
   * @param address host:port, or any gRPC target such as dns:///usher.internal:50051
   * @param key the internal API key, where the service has any
   * @param caFile the certificate authority of the service, in PEM; without it the connection is cleartext: loopback only
   * @param deadline how long one call may take, its retries included
   */
  Usher(String address, Optional<String> key, Optional<File> caFile, Duration deadline) throws IOException {
    ChannelCredentials security =
        caFile.isPresent()
            ? TlsChannelCredentials.newBuilder().trustManager(caFile.get()).build()
            : InsecureChannelCredentials.create();
    Metadata metadata = new Metadata();
    key.ifPresent(value -> metadata.put(KEY, value));
    this.channel =
        Grpc.newChannelBuilder(address, security)
            .defaultServiceConfig(SERVICE_CONFIG)
            .intercept(MetadataUtils.newAttachHeadersInterceptor(metadata))
            // A dead peer is noticed within 35 s, also while nothing is asked; without pings the next calls would wait in vain.
            .keepAliveTime(30, TimeUnit.SECONDS)
            .keepAliveTimeout(5, TimeUnit.SECONDS)
            .keepAliveWithoutCalls(true)
            .build();
    this.stub = PermissionServiceGrpc.newBlockingStub(channel);
    this.deadline = deadline;
  }

  /**
   * Waits for the first connection, so that the deadline of the first question is not spent on it.
   *
   * @return false: there was none within the time
   */
  boolean ready(Duration timeout) throws InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    ConnectivityState state = channel.getState(true);
    while (state != ConnectivityState.READY) {
      CountDownLatch changed = new CountDownLatch(1);
      channel.notifyWhenStateChanged(state, changed::countDown);
      if (!changed.await(end - System.nanoTime(), TimeUnit.NANOSECONDS)) return false;
      state = channel.getState(true);
    }
    return true;
  }

  Answer<CheckResponse> check(CheckRequest question) {
    return ask(service -> service.check(question), CheckResponse.getDefaultInstance());
  }

  Answer<BulkCheckResponse> bulkCheck(BulkCheckRequest question) {
    return ask(service -> service.bulkCheck(question), BulkCheckResponse.getDefaultInstance());
  }

  Answer<EffectiveResponse> effective(EffectiveRequest question) {
    return ask(service -> service.effective(question), EffectiveResponse.getDefaultInstance());
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }

  /** An error is not an answer: the person is denied for this request, by a response that grants nothing. */
  private <T> Answer<T> ask(Function<PermissionServiceBlockingStub, T> call, T denied) {
    try {
      // A deadline is a point in time: set for each call, never once for the stub.
      return new Answer<>(call.apply(stub.withDeadlineAfter(deadline)), Optional.empty());
    } catch (StatusRuntimeException error) {
      return new Answer<>(denied, Optional.of(toFailure(error)));
    }
  }

  private static Failure toFailure(StatusRuntimeException error) {
    Failure fallback = new Failure(error.getStatus().getCode().name(), error.getStatus().getDescription());
    com.google.rpc.Status status = StatusProto.fromThrowable(error);
    if (status == null) return fallback;
    try {
      for (Any detail : status.getDetailsList()) {
        if (!detail.is(ErrorInfo.class)) continue;
        ErrorInfo info = detail.unpack(ErrorInfo.class);
        if (info.getDomain().equals("usher")) return new Failure(info.getReason(), fallback.message());
      }
    } catch (InvalidProtocolBufferException unreadable) {
      // Costs the precise reason only: the call has failed all the same.
      return fallback;
    }
    return fallback;
  }
}
