package io.github.usherservice.client;

import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/** Options of a client. Made by {@link Usher#builder}. */
public final class UsherBuilder {
  private static final Pattern LOOPBACK = Pattern.compile("(?:.*/)?(?:localhost|127(?:\\.\\d{1,3}){3}|\\[::1])(?::\\d+)?");

  private final String address;
  private Optional<String> key = Optional.empty();
  private Optional<Boolean> plaintext = Optional.empty();
  private Optional<Path> ca = Optional.empty();
  private Optional<ChannelCredentials> credentials = Optional.empty();
  private Path certificate;
  private Path certificateKey;
  /** Null: the usual one, without the time to connect. */
  private Duration deadline;

  UsherBuilder(String address) {
    this.address = Reader.address(address);
  }

  /**
   * Sends the key of this caller with every call. Without it none is sent.
   *
   * @param key the key; null for none
   * @return this
   */
  public UsherBuilder key(String key) {
    this.key = Optional.ofNullable(Reader.key(key));
    return this;
  }

  /**
   * Says whether the connection is cleartext. By default it is to loopback, and TLS to everything else.
   *
   * @param plaintext true for cleartext, false for TLS
   * @return this
   */
  public UsherBuilder plaintext(boolean plaintext) {
    this.plaintext = Optional.of(plaintext);
    return this;
  }

  /**
   * Sets the authority of the service's certificate. By default the authorities of Java are trusted. Implies TLS.
   *
   * @param pem a PEM file
   * @return this
   */
  public UsherBuilder ca(Path pem) {
    this.ca = Optional.of(Reader.notNull(pem, "ca"));
    return this;
  }

  /**
   * Sets the certificate of this caller, for mutual TLS. Implies TLS.
   *
   * @param pem a PEM file with the certificate and those that it is signed by
   * @param keyPem a PEM file with its key, in PKCS #8
   * @return this
   */
  public UsherBuilder certificate(Path pem, Path keyPem) {
    this.certificate = Reader.notNull(pem, "certificate");
    this.certificateKey = Reader.notNull(keyPem, "certificate");
    return this;
  }

  /**
   * Sets the security of the connection, instead of {@link #plaintext}, {@link #ca} and {@link #certificate}.
   *
   * @param credentials of gRPC
   * @return this
   */
  public UsherBuilder credentials(ChannelCredentials credentials) {
    this.credentials = Optional.of(Reader.notNull(credentials, "credentials"));
    return this;
  }

  /**
   * Bounds the time for an answer, retries and connecting included. By default 500 ms, without the time to connect and to load
   * classes, up to five seconds, for the first call.
   *
   * @param deadline more than zero
   * @return this
   */
  public UsherBuilder deadline(Duration deadline) {
    this.deadline = positive(deadline);
    return this;
  }

  /**
   * Makes the client. It connects with the first question, or by {@link Usher#ready}.
   *
   * @return a client, to be closed when the program ends
   * @throws UncheckedIOException where a PEM file cannot be read
   */
  public Usher build() {
    Connection connection = connection();
    return new Usher(new AsyncUsher(connection, deadline, ""));
  }

  private Connection connection() {
    boolean isClear = credentials.isEmpty() && isCleartext();
    try {
      return new Connection(address, credentials.orElseGet(this::security), isClear, key);
    } catch (IllegalArgumentException error) {
      throw Reader.malformed("address", "gRPC says: " + error.getMessage());
    }
  }

  static Duration positive(Duration deadline) {
    Reader.notNull(deadline, "deadline");
    if (deadline.isNegative() || deadline.isZero()) throw new IllegalArgumentException("The deadline must be more than zero.");
    return deadline;
  }

  boolean isCleartext() {
    return plaintext.orElseGet(() -> ca.isEmpty() && certificate == null && LOOPBACK.matcher(address).matches());
  }

  private ChannelCredentials security() {
    if (isCleartext()) return InsecureChannelCredentials.create();
    try {
      TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
      if (ca.isPresent()) tls.trustManager(ca.get().toFile());
      if (certificate != null) tls.keyManager(certificate.toFile(), certificateKey.toFile());
      return tls.build();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
