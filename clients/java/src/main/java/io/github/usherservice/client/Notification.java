package io.github.usherservice.client;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a {@link Notifier} sends. Immutable: the methods make changed copies. */
public final class Notification {
  private final Map<String, Object> members;

  /**
   * To addresses, of the type {@code generic}.
   *
   * @param app the code of the application that sends it
   * @param to 1 to 1,000 addresses
   */
  public Notification(String app, Collection<String> to) {
    this(Map.of("appCode", Reader.given(app, "app"), "recipients", Reader.recipients(to)));
  }

  /**
   * To one address, of the type {@code generic}.
   *
   * @param app the code of the application that sends it
   * @param to an address
   */
  public Notification(String app, String to) {
    this(app, List.of(Reader.given(to, "to")));
  }

  private Notification(Map<String, Object> members) {
    this.members = members;
  }

  /**
   * The same of another type.
   *
   * @param type a code of the application's notification types
   * @return a changed copy
   */
  public Notification withType(String type) {
    return with("type", Reader.given(type, "type"));
  }

  /**
   * The same with a subject.
   *
   * @param subject instead of the template's
   * @return a changed copy
   */
  public Notification withSubject(String subject) {
    return with("subject", Reader.given(subject, "subject"));
  }

  /**
   * The same with a text.
   *
   * @param body instead of the template's
   * @return a changed copy
   */
  public Notification withBody(String body) {
    return with("body", Reader.given(body, "body"));
  }

  /**
   * The same with a link.
   *
   * @param url a URL, or a path of the application
   * @return a changed copy
   */
  public Notification withUrl(String url) {
    return with("url", Reader.given(url, "url"));
  }

  /**
   * The same with a picture.
   *
   * @param icon a URL, or a path of the application
   * @return a changed copy
   */
  public Notification withIcon(String icon) {
    return with("icon", Reader.given(icon, "icon"));
  }

  /**
   * The same in one language for all. Without, each person's own is taken.
   *
   * @param locale a code of the language registry
   * @return a changed copy
   */
  public Notification withLocale(String locale) {
    return with("locale", Reader.given(locale, "locale"));
  }

  /**
   * The same by one of the type's templates.
   *
   * @param key the template's key
   * @return a changed copy
   */
  public Notification withTemplateKey(String key) {
    return with("templateKey", Reader.given(key, "templateKey"));
  }

  /**
   * The same with the variables of its template.
   *
   * @param payload texts, numbers, booleans, lists and maps of them
   * @return a changed copy
   */
  public Notification withPayload(Map<String, ?> payload) {
    return with("payload", Reader.notNull(payload, "payload"));
  }

  /**
   * The same with a key of its own: sent again with the same key, nothing is sent again. Without one nothing is tried again.
   *
   * @param key of the caller's choice
   * @return a changed copy
   */
  public Notification withIdempotencyKey(String key) {
    return with("idempotencyKey", Reader.given(key, "idempotencyKey"));
  }

  private Notification with(String name, Object value) {
    Map<String, Object> changed = new LinkedHashMap<>(members);
    changed.put(name, value);
    return new Notification(changed);
  }

  boolean isRepeatable() {
    return members.containsKey("idempotencyKey");
  }

  Map<String, Object> members() {
    return members;
  }
}
