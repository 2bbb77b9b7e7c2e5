package io.github.usherservice.client;

/**
 * A user in an application, and the record that a question is about.
 *
 * @param email the user's address
 * @param app the application's code
 * @param resource the record; {@link Resource#NONE} for none
 */
public record Subject(String email, String app, Resource resource) {
  /**
   * Refuses null.
   *
   * @param email the user's address
   * @param app the application's code
   * @param resource the record; {@link Resource#NONE} for none
   */
  public Subject {
    Reader.notNull(email, "email");
    Reader.notNull(app, "app");
    Reader.notNull(resource, "resource");
  }

  /**
   * A user in an application, without a record.
   *
   * @param email the user's address
   * @param app the application's code
   */
  public Subject(String email, String app) {
    this(email, app, Resource.NONE);
  }

  /**
   * The same about a record.
   *
   * @param type an entity code of the application
   * @param id the record's identifier
   * @return a changed copy
   */
  public Subject withResource(String type, String id) {
    return new Subject(email, app, new Resource(type, id));
  }
}
