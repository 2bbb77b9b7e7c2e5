package io.github.usherservice.client;

import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import javax.net.ssl.SSLContext;

/** Options of a notifier. Made by {@link Notifier#builder}. */
public final class NotifierBuilder {
  private final URI origin;
  private String key;
  private Duration deadline = Duration.ofSeconds(5);
  private final HttpClient.Builder http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);

  NotifierBuilder(String url) {
    origin = Reader.gateway(url);
  }

  /**
   * Sends the key of this caller. Required.
   *
   * @param key with the scope {@code notify}
   * @return this
   */
  public NotifierBuilder key(String key) {
    this.key = Reader.key(Reader.given(key, "key"));
    return this;
  }

  /**
   * Bounds the time for an answer, retries and connecting included: 5 s by default.
   *
   * @param deadline more than zero
   * @return this
   */
  public NotifierBuilder deadline(Duration deadline) {
    this.deadline = UsherBuilder.positive(deadline);
    return this;
  }

  /**
   * Sets the authorities and the certificate of this caller. By default those of Java are taken.
   *
   * @param context of TLS
   * @return this
   */
  public NotifierBuilder tls(SSLContext context) {
    http.sslContext(Reader.notNull(context, "tls"));
    return this;
  }

  /**
   * Makes the notifier.
   *
   * @return a notifier, for the whole process
   */
  public Notifier build() {
    if (key == null) throw Reader.malformed("key", "is required");
    return new Notifier(origin, key, deadline, http.build());
  }
}
