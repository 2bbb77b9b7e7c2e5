import com.google.gson.Gson;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Makes the calls of cases.ts with grpc-java: Interop ADDRESS KEY < cases.json, a line of JSON for each. */
final class Interop {
  private static final int MOST_BYTES = 16 * 1024 * 1024;
  private static final Metadata.Key<String> KEY = Metadata.Key.of("x-internal-api-key", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> REQUEST_ID = Metadata.Key.of("x-request-id", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<byte[]> DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private record Case(
      String name, String path, String request, String kind, int count, long timeoutMs, String key, String requestId, boolean gzip) {}

  private record Outcome(
      String name, int status, int messages, int longest, boolean hasMessage, boolean hasDetails, String requestId) {}

  /** Passes messages as they are. */
  private static final class Raw implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] message) {
      return new ByteArrayInputStream(message);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }

  /** The messages of one case. */
  private static final class Tally {
    int messages;
    int longest;

    void took(byte[] message) {
      messages++;
      longest = Math.max(longest, message.length);
    }
  }

  private Interop() {}

  public static void main(String[] args) throws InterruptedException {
    Gson json = new Gson();
    Case[] cases = json.fromJson(new InputStreamReader(System.in, StandardCharsets.UTF_8), Case[].class);
    ManagedChannel channel =
        Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).maxInboundMessageSize(MOST_BYTES).build();
    for (Case one : cases) System.out.println(json.toJson(run(channel, one, args[1])));
    channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
  }

  private static Outcome run(Channel channel, Case one, String key) throws InterruptedException {
    Metadata metadata = new Metadata();
    metadata.put(KEY, one.key().equals("good") ? key : "a-key-that-nobody-has");
    if (!one.requestId().isEmpty()) metadata.put(REQUEST_ID, one.requestId());
    Channel withMetadata = ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(metadata));
    Tally tally = new Tally();
    try {
      if (one.kind().equals("stream") || one.kind().equals("deadline")) stream(withMetadata, one, tally);
      else unary(withMetadata, one, tally);
      return new Outcome(one.name(), 0, tally.messages, tally.longest, false, false, "");
    } catch (StatusRuntimeException error) {
      Metadata trailers = error.getTrailers() == null ? new Metadata() : error.getTrailers();
      String description = error.getStatus().getDescription();
      String requestId = trailers.get(REQUEST_ID);
      return new Outcome(
          one.name(),
          error.getStatus().getCode().value(),
          tally.messages,
          tally.longest,
          description != null && !description.isEmpty(),
          trailers.containsKey(DETAILS),
          requestId == null ? "" : requestId);
    }
  }

  private static ClientCall<byte[], byte[]> begin(Channel channel, Case one, MethodType type) {
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.newBuilder(new Raw(), new Raw()).setType(type).setFullMethodName(one.path().substring(1)).build();
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(one.timeoutMs(), TimeUnit.MILLISECONDS);
    return channel.newCall(method, one.gzip() ? options.withCompression("gzip") : options);
  }

  private static void unary(Channel channel, Case one, Tally tally) throws InterruptedException {
    byte[] request = HexFormat.of().parseHex(one.request());
    List<? extends Future<byte[]>> calls =
        Stream.generate(() -> ClientCalls.futureUnaryCall(begin(channel, one, MethodType.UNARY), request))
            .limit(one.count())
            .toList();
    for (Future<byte[]> call : calls) {
      try {
        tally.took(call.get());
      } catch (ExecutionException error) {
        throw (StatusRuntimeException) error.getCause();
      }
    }
  }

  private static void stream(Channel channel, Case one, Tally tally) {
    ClientCall<byte[], byte[]> call = begin(channel, one, MethodType.SERVER_STREAMING);
    Iterator<byte[]> messages = ClientCalls.blockingServerStreamingCall(call, HexFormat.of().parseHex(one.request()));
    while (one.kind().equals("deadline") || tally.messages < one.count()) tally.took(messages.next());
    call.cancel("the case ends", null);
    try {
      // What was under way when the call was canceled may still come.
      while (messages.hasNext()) messages.next();
    } catch (StatusRuntimeException error) {
      if (error.getStatus().getCode() == Status.Code.CANCELLED) return;
      throw error;
    }
    throw Status.UNKNOWN.withDescription("the stream ended by itself").asRuntimeException();
  }
}
