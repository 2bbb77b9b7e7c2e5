package io.github.usherservice.client;

import io.grpc.Status;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads questions and options strictly. What cannot be read is refused before anything is sent: a question is never answered as a wider
 * one (docs/reference/decisions.md#client-packages).
 */
final class Reader {
  private static final int MOST = 1_000;
  private static final Pattern SCHEME = Pattern.compile("(https?|grpcs?|tcp|tls)://.*", Pattern.CASE_INSENSITIVE);
  private static final Pattern VISIBLE = Pattern.compile("[\\x20-\\x7e]*");

  private final List<Violation> violations = new ArrayList<>();
  private boolean isHalf = true;

  private Reader() {}

  /** A fault of one member. */
  static InvalidQuestionException malformed(String field, String message) {
    return new Reader().add(field, message).exception();
  }

  static <T> T notNull(T value, String field) {
    if (value == null) throw malformed(field, "must not be null");
    return value;
  }

  /** The halves of a record, which is whole or {@link Resource#NONE}. */
  static void record(String type, String id) {
    Reader reader = new Reader();
    if (type == null) reader.add("resource.type", "must not be null");
    if (id == null) reader.add("resource.id", "must not be null");
    reader.throwIfAny();
    if (type.isEmpty() && id.isEmpty()) return;
    if (type.isEmpty()) reader.half("resource.type");
    if (id.isEmpty()) reader.half("resource.id");
    reader.throwIfAny();
  }

  /** What a question may ask for. */
  static Level level(Level level) {
    notNull(level, "level");
    if (level == Level.ALLOWED) throw malformed("level", "must be VIEW or EDIT, or NONE for any, not ALLOWED");
    return level;
  }

  static void check(Question question) {
    Reader reader = new Reader();
    reader.question(question, "");
    reader.throwIfAny();
  }

  static void batch(List<Question> questions) {
    Reader reader = new Reader();
    List<Question> all = reader.items(questions, "questions");
    for (int i = 0; i < all.size(); i++) reader.question(all.get(i), "questions[" + i + "]");
    reader.throwIfAny();
  }

  static void subject(Subject subject) {
    Reader reader = new Reader();
    reader.about(subject);
    reader.throwIfAny();
  }

  static void bulk(Subject subject, Collection<String> permissions, Level level) {
    Reader reader = new Reader();
    reader.about(subject);
    List<String> all = reader.items(permissions, "permissions");
    for (int i = 0; i < all.size(); i++) reader.text(all.get(i), "permissions[" + i + "]");
    reader.throwIfAny();
    level(level);
  }

  static void everybody(Question question) {
    Reader reader = new Reader();
    if (question != null && !question.email().isEmpty()) {
      reader.add("email", "must be empty: the question is about everybody, as Question.ofEverybody makes it");
    }
    if (question == null) reader.add("question", "must not be null");
    else reader.common(question, "");
    reader.throwIfAny();
  }

  static void records(Question question, String type) {
    Reader reader = new Reader();
    reader.question(question, "");
    reader.text(type, "type");
    if (question != null && !question.resource().equals(Resource.NONE)) {
      reader.add("resource", "must be NONE: the question is about all records of a type");
    }
    reader.throwIfAny();
  }

  static List<String> apps(Collection<String> apps) {
    Reader reader = new Reader();
    List<String> named = new ArrayList<>(notNull(apps, "apps"));
    for (int i = 0; i < named.size(); i++) reader.text(named.get(i), "apps[" + i + "]");
    reader.throwIfAny();
    return List.copyOf(named);
  }

  static List<String> apps(String... apps) {
    return apps(Arrays.asList(notNull(apps, "apps")));
  }

  static String address(String address) {
    if (notNull(address, "address").isEmpty()) throw malformed("address", "must not be empty: host:port of the gRPC port");
    Matcher scheme = SCHEME.matcher(address);
    if (scheme.matches()) {
      throw malformed("address", "must be host:port of the gRPC port, without " + scheme.group(1) + "://");
    }
    return address;
  }

  /** Of a gateway: where it is, without a path. */
  static URI gateway(String url) {
    String form = "must be a URL, such as https://usher.example.com";
    URI uri;
    try {
      uri = new URI(given(url, "url"));
    } catch (URISyntaxException error) {
      throw malformed("url", form);
    }
    boolean isHttp = "http".equalsIgnoreCase(uri.getScheme()) || "https".equalsIgnoreCase(uri.getScheme());
    if (!isHttp || uri.getHost() == null) throw malformed("url", form);
    String path = uri.getPath();
    if (!(path.isEmpty() || path.equals("/")) || uri.getQuery() != null || uri.getFragment() != null) {
      throw malformed("url", "must have no path: it is the address of the gateway, such as https://usher.example.com");
    }
    return URI.create(uri.getScheme() + "://" + uri.getRawAuthority());
  }

  static List<String> recipients(Collection<String> to) {
    Reader reader = new Reader();
    List<String> all = reader.items(to, "to");
    for (int i = 0; i < all.size(); i++) reader.text(all.get(i), "to[" + i + "]");
    reader.throwIfAny();
    return List.copyOf(all);
  }

  static String key(String key) {
    if (key != null && !VISIBLE.matcher(key).matches()) {
      throw malformed("key", "must hold visible ASCII alone: a line break at its end is not of it");
    }
    return key;
  }

  /** A text that is not empty. */
  static String given(String text, String field) {
    Reader reader = new Reader();
    reader.text(text, field);
    reader.throwIfAny();
    return text;
  }

  private void question(Question question, String path) {
    if (question == null) {
      add(path.isEmpty() ? "question" : path, "must not be null");
      return;
    }
    String before = path.isEmpty() ? "" : path + ".";
    text(question.email(), before + "email");
    common(question, before);
  }

  private void common(Question question, String before) {
    text(question.app(), before + "app");
    text(question.permission(), before + "permission");
    record(question.resource(), before);
  }

  private void about(Subject subject) {
    if (subject == null) {
      add("subject", "must not be null");
      return;
    }
    text(subject.email(), "email");
    text(subject.app(), "app");
    record(subject.resource(), "");
  }

  private void record(Resource resource, String before) {
    if (resource.equals(Resource.NONE)) return;
    text(resource.type(), before + "resource.type");
    text(resource.id(), before + "resource.id");
  }

  private void text(String text, String field) {
    if (text == null) add(field, "must not be null");
    else if (text.isEmpty()) add(field, "must not be empty");
    // The wire would carry another character in its place.
    else if (text.codePoints().anyMatch(point -> Character.getType(point) == Character.SURROGATE)) {
      add(field, "must not hold lone surrogates");
    }
  }

  private <T> List<T> items(Collection<T> items, String field) {
    if (items == null) add(field, "must not be null");
    else if (items.isEmpty() || items.size() > MOST) add(field, "must hold 1 to " + MOST);
    else return new ArrayList<>(items);
    return List.of();
  }

  private Reader add(String field, String message) {
    violations.add(new Violation(field, message));
    isHalf = false;
    return this;
  }

  private void half(String field) {
    violations.add(new Violation(field, "must not be empty: a record has a type and an id"));
  }

  private void throwIfAny() {
    if (!violations.isEmpty()) throw exception();
  }

  private InvalidQuestionException exception() {
    String said = String.join(". ", violations.stream().map(one -> one.field() + ": " + one.message()).toList());
    String reason = isHalf ? "INCOMPLETE_RESOURCE" : "VALIDATION_FAILED";
    var details = new UsherException.Details(List.copyOf(violations), Map.of(), Optional.empty());
    return new InvalidQuestionException(said, Status.Code.INVALID_ARGUMENT, reason, details, null);
  }
}
