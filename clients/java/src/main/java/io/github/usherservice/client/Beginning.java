package io.github.usherservice.client;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Before the first answer of a client: connecting and loading classes takes longer than answering. */
final class Beginning {
  /** For connecting and answering together, until something has answered. */
  private static final Duration FIRST = Duration.ofSeconds(5);

  private static final Pattern DETAILS = Pattern.compile("\\R| \\[(?:closed|open|\\[)");
  private static final Pattern CAUSE = Pattern.compile("cause=[\\w.$]+: ([^\\n]+)");

  private final ManagedChannel channel;
  private final String address;
  private final boolean isCleartext;
  private volatile boolean isAnswered;

  Beginning(ManagedChannel channel, String address, boolean isCleartext) {
    this.channel = channel;
    this.address = address;
    this.isCleartext = isCleartext;
  }

  /** gRPC puts the stacks of what it tried into its message. The exception has it whole, as its cause. */
  private static String brief(String message) {
    String said = DETAILS.split(message, 2)[0].strip().replaceFirst("[.,]$", "");
    Matcher cause = CAUSE.matcher(message);
    return cause.find() ? said + ": " + cause.group(1) : said;
  }

  boolean isOver() {
    return isAnswered;
  }

  /** The time for a call, once it is known whether there is a connection: one that is refused is trouble, and no time to connect. */
  CompletableFuture<Duration> connected(Duration usual) {
    long until = System.nanoTime() + FIRST.toNanos();
    CompletableFuture<Duration> time = new CompletableFuture<>();
    follow(channel.getState(true), usual, until, time);
    return time.completeOnTimeout(usual, FIRST.toNanos(), TimeUnit.NANOSECONDS);
  }

  private void follow(ConnectivityState state, Duration usual, long until, CompletableFuture<Duration> time) {
    if (time.isDone()) return;
    switch (state) {
      case READY -> {
        Duration left = Duration.ofNanos(until - System.nanoTime());
        time.complete(left.compareTo(usual) > 0 ? left : usual);
      }
      case TRANSIENT_FAILURE, SHUTDOWN -> time.complete(usual);
      case IDLE, CONNECTING ->
          channel.notifyWhenStateChanged(state, () -> follow(channel.getState(true), usual, until, time));
    }
  }

  void answered() {
    isAnswered = true;
  }

  /** Says, where nothing has ever answered, what may be the matter. */
  UsherException failure(Throwable thrown) {
    UsherException failure = Failures.of(thrown);
    if (!(failure instanceof UnavailableException)) {
      // Also a refusal is an answer; a call that its caller cancelled is none.
      isAnswered = true;
      return failure;
    }
    if (isAnswered || failure.code() == Status.Code.CANCELLED) return failure;
    String hint =
        brief(failure.getMessage()) + ". Nothing at " + address + " has answered this client yet: is it the port of gRPC"
            + " (50051 by default; REST has another, 8080), and does it speak " + (isCleartext ? "cleartext" : "TLS") + "?";
    return Failures.of(failure.code(), hint, thrown);
  }
}
