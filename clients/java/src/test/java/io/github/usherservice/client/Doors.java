package io.github.usherservice.client;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** A service with the demonstration, and an edge of it that asks for certificates: test.sh starts both. */
public final class Doors {
  public static final Question BEN = new Question("ben@example.com", "atelier", "project.access");
  public static final String STRANGER = "stranger@example.com";

  /** The two that answer. */
  public enum Door {
    SERVICE,
    EDGE
  }

  private Doors() {}

  static String environment(String name) {
    return Optional.ofNullable(System.getenv(name))
        .orElseThrow(() -> new IllegalStateException(name + " is not set: run test.sh"));
  }

  static String key() {
    return environment("USHER_KEY");
  }

  static Path certificates() {
    return Path.of(environment("USHER_CERTIFICATES"));
  }

  static UsherBuilder builder(Door door) {
    return switch (door) {
      case SERVICE -> at(environment("USHER_GRPC"));
      case EDGE ->
          at(environment("USHER_EDGE"))
              .ca(certificates().resolve("ca.crt"))
              .certificate(certificates().resolve("client.crt"), certificates().resolve("client.key"));
    };
  }

  /** A client whose deadline leaves time for a machine that is busy. */
  static UsherBuilder at(String address) {
    return Usher.builder(address).key(key()).deadline(Duration.ofSeconds(10));
  }

  public static Usher service() {
    return builder(Door.SERVICE).build();
  }

  public static Usher wrong() {
    return builder(Door.SERVICE).key("a-key-that-nobody-has").build();
  }

  public static Usher away() {
    return at("127.0.0.1:1").deadline(Duration.ofMillis(300)).build();
  }

}
