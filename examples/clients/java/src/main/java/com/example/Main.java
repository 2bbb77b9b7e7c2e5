package com.example;

import io.github.usherservice.client.Decision;
import io.github.usherservice.client.Level;
import io.github.usherservice.client.Question;
import io.github.usherservice.client.Source;
import io.github.usherservice.client.Subject;
import io.github.usherservice.client.Usher;
import io.github.usherservice.client.UsherException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/** Asks what somebody may: EMAIL APP PERMISSION[,PERMISSION...] [any|view|edit [TYPE:ID]]. */
final class Main {
  private static final Map<String, Level> LEVELS = Map.of("any", Level.NONE, "view", Level.VIEW, "edit", Level.EDIT);

  public static void main(String[] given) {
    String[] args = Arrays.copyOf(given, 5);
    // Only the first colon divides: identifiers may hold more of them.
    String[] record = Arrays.copyOf((args[4] == null ? "" : args[4]).split(":", 2), 2);
    Question question =
        new Question(args[0], args[1], args[2].split(",")[0])
            .withResource(record[0], Objects.requireNonNullElse(record[1], ""))
            .withLevel(LEVELS.get(args[3] == null ? "any" : args[3]));
    String address = System.getenv().getOrDefault("USHER_GRPC", "localhost:50051");
    try (Usher usher = Usher.builder(address).key(System.getenv("USHER_API_KEY")).deadline(Duration.ofSeconds(5)).build()) {
      ask(usher, question, List.of(args[2].split(",")));
    } catch (UsherException error) {
      System.err.println("denied: error=" + error.reason() + " " + error.getMessage());
      System.exit(1);
    }
  }

  private static void ask(Usher usher, Question question, List<String> permissions) {
    Decision decision = usher.check(question);
    show("check", question.permission(), decision.allowed(), decision.level(), decision.source());
    // Read your writes: the next answers are at least as fresh as this one.
    Usher fresh = usher.atLeast(decision.revision());
    Subject subject = new Subject(question.email(), question.app(), question.resource());
    fresh.bulkCheck(subject, permissions, question.level())
        .forEach((code, one) -> show("bulk", code, one.allowed(), one.level(), one.source()));
    fresh.effective(subject)
        .permissions()
        .forEach(one -> show("effective", one.permission(), one.allowed(), one.level(), one.source()));
  }

  private static void show(String method, String code, boolean allowed, Level level, Source source) {
    String held = "level=" + level + " source=" + source;
    System.out.printf("%-10s %-24s %s %s%n", method, code, allowed ? "allowed" : "denied ", held.toLowerCase(Locale.ROOT));
  }
}
