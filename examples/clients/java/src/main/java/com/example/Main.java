package com.example;

import io.github.usherservice.client.Decision;
import io.github.usherservice.client.Level;
import io.github.usherservice.client.Question;
import io.github.usherservice.client.Usher;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;

/** Asks what somebody may: EMAIL APP PERMISSION [any|view|edit [TYPE:ID]]. */
final class Main {
  private static final Map<String, Level> LEVELS = Map.of("any", Level.NONE, "view", Level.VIEW, "edit", Level.EDIT);

  public static void main(String[] args) {
    Question question = new Question(args[0], args[1], args[2]).withLevel(LEVELS.get(args.length > 3 ? args[3] : "any"));
    if (args.length > 4) {
      // Only the first colon divides: identifiers may hold more of them.
      String[] record = args[4].split(":", 2);
      question = question.withResource(record[0], record.length > 1 ? record[1] : "");
    }
    String address = System.getenv().getOrDefault("USHER_GRPC", "localhost:50051");
    try (Usher usher = Usher.builder(address).key(System.getenv("USHER_API_KEY")).deadline(Duration.ofSeconds(10)).build()) {
      Decision decision = usher.check(question);
      String held = decision.level() + " " + decision.source();
      System.out.println((decision.allowed() ? "allowed " : "denied ") + held.toLowerCase(Locale.ROOT));
    }
  }
}
