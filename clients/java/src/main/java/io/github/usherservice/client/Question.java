package io.github.usherservice.client;

/**
 * Asks whether a user holds a permission.
 *
 * @param email the user's address
 * @param app the application's code
 * @param permission the permission's code
 * @param resource the record; {@link Resource#NONE} for none
 * @param level the least that will do: {@link Level#VIEW}, {@link Level#EDIT}, or {@link Level#NONE} for any
 */
public record Question(String email, String app, String permission, Resource resource, Level level) {
  /**
   * Refuses null.
   *
   * @param email the user's address
   * @param app the application's code
   * @param permission the permission's code
   * @param resource the record; {@link Resource#NONE} for none
   * @param level the least that will do
   */
  public Question {
    Reader.notNull(email, "email");
    Reader.notNull(app, "app");
    Reader.notNull(permission, "permission");
    Reader.notNull(resource, "resource");
    Reader.level(level);
  }

  /**
   * A question without a record, for any level.
   *
   * @param email the user's address
   * @param app the application's code
   * @param permission the permission's code
   */
  public Question(String email, String app, String permission) {
    this(email, app, permission, Resource.NONE, Level.NONE);
  }

  /**
   * A question about everybody, for {@link Usher#subjects}.
   *
   * @param app the application's code
   * @param permission the permission's code
   * @return a question without an address
   */
  public static Question ofEverybody(String app, String permission) {
    return new Question("", app, permission);
  }

  /**
   * The same about a record.
   *
   * @param type an entity code of the application
   * @param id the record's identifier
   * @return a changed copy
   */
  public Question withResource(String type, String id) {
    return withResource(new Resource(type, id));
  }

  /**
   * The same about a record.
   *
   * @param about the record
   * @return a changed copy
   */
  public Question withResource(Resource about) {
    return new Question(email, app, permission, about, level);
  }

  /**
   * The same for a level.
   *
   * @param least the least that will do
   * @return a changed copy
   */
  public Question withLevel(Level least) {
    return new Question(email, app, permission, resource, least);
  }
}
