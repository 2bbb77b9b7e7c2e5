package io.github.usherservice.client;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.grpc.Status;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Sends notifications over REST: inbox, e-mail and push, as their types and preferences say. Make one for the whole process; it is
 * shared by all threads. A notification that was not stored is a {@link UsherException}.
 */
public final class Notifier {
  private static final int TRIES = 3;
  private static final long AGAIN_MS = 200;
  /** Of answers that the same request may mend, by itself. */
  private static final Set<Integer> PASSING = Set.of(429, 502, 503, 504);

  private static final Gson JSON = new GsonBuilder().disableHtmlEscaping().serializeNulls().create();

  private final URI endpoint;
  private final String origin;
  private final String key;
  private final Duration deadline;
  private final HttpClient http;

  Notifier(URI origin, String key, Duration deadline, HttpClient http) {
    this.endpoint = origin.resolve("/api/internal/notifications");
    this.origin = origin.toString();
    this.key = key;
    this.deadline = deadline;
    this.http = http;
  }

  /**
   * Begins a notifier.
   *
   * @param url of the gateway, such as {@code https://usher.example.com}
   * @return its options
   */
  public static NotifierBuilder builder(String url) {
    return new NotifierBuilder(url);
  }

  /**
   * Sends, and returns once the service has stored the notification. With an idempotency key it is tried again while the service is
   * away or busy, and sends once.
   *
   * @param notification what is sent
   * @return what became of it, for each address
   */
  public List<Accepted> notify(Notification notification) {
    return UnaryCall.await(notifyAsync(notification));
  }

  /**
   * The same without a thread that waits. To cancel the future ends the waiting, not always the sending.
   *
   * @param notification what is sent
   * @return a future that fails with {@link UsherException}
   */
  public CompletableFuture<List<Accepted>> notifyAsync(Notification notification) {
    String body;
    try {
      body = JSON.toJson(Reader.notNull(notification, "notification").members());
    } catch (InvalidQuestionException error) {
      return CompletableFuture.failedFuture(error);
    } catch (RuntimeException error) {
      return CompletableFuture.failedFuture(Reader.malformed("payload", "must be JSON: " + error.getMessage()));
    }
    return send(body, notification.isRepeatable() ? TRIES : 1, System.nanoTime() + deadline.toNanos());
  }

  private CompletableFuture<List<Accepted>> send(String body, int tries, long until) {
    HttpRequest request =
        HttpRequest.newBuilder(endpoint)
            .header("content-type", "application/json")
            .header("x-internal-api-key", key)
            .timeout(Duration.ofNanos(Math.max(1, until - System.nanoTime())))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    return http.sendAsync(request, HttpResponse.BodyHandlers.ofString())
        .handle((response, error) -> {
          boolean isLast = tries <= 1 || System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(AGAIN_MS) >= until;
          UsherException failure;
          if (error != null) failure = noAnswer(error instanceof CompletionException ? error.getCause() : error);
          else if (response.statusCode() / 100 != 2) {
            failure = HttpFailures.of(response);
            if (!PASSING.contains(response.statusCode())) return CompletableFuture.<List<Accepted>>failedFuture(failure);
          } else {
            try {
              return CompletableFuture.completedFuture(accepted(response.body()));
            } catch (JsonParseException | IllegalStateException | NullPointerException unreadable) {
              failure = noAnswer(unreadable);
            }
          }
          if (isLast) return CompletableFuture.<List<Accepted>>failedFuture(failure);
          long pause = AGAIN_MS / 2 + ThreadLocalRandom.current().nextLong(AGAIN_MS / 2);
          return CompletableFuture.runAsync(() -> {}, CompletableFuture.delayedExecutor(pause, TimeUnit.MILLISECONDS))
              .thenCompose(nothing -> send(body, tries - 1, until));
        })
        .thenCompose(answer -> answer);
  }

  private UsherException noAnswer(Throwable cause) {
    boolean isLate = cause instanceof HttpTimeoutException;
    String message =
        origin + " did not answer as Usher's gateway does" + (isLate ? ", within the deadline" : "")
            + ". Is it the address of REST (port 8080 by default; gRPC has another, 50051), and is it http or https as there?";
    return Failures.of(isLate ? Status.Code.DEADLINE_EXCEEDED : Status.Code.UNAVAILABLE, message, cause);
  }

  private static List<Accepted> accepted(String text) {
    JsonArray items =
        JSON.fromJson(text, JsonObject.class).getAsJsonObject("data").getAsJsonArray("notifications");
    List<Accepted> accepted = new ArrayList<>();
    for (JsonElement item : items) {
      JsonObject one = item.getAsJsonObject();
      Optional<String> reason =
          Optional.ofNullable(one.get("statusReason")).filter(value -> !value.isJsonNull()).map(JsonElement::getAsString);
      accepted.add(new Accepted(one.get("id").getAsLong(), one.get("email").getAsString(), one.get("status").getAsString(), reason));
    }
    return List.copyOf(accepted);
  }
}
