package io.github.usherservice.client;

/**
 * One record of an application.
 *
 * @param type an entity code of the application
 * @param id the record's identifier in the application
 */
public record Resource(String type, String id) {
  /** No record: the question is about the application as a whole. */
  public static final Resource NONE = new Resource("", "");

  /**
   * Refuses null and half of a record, which would be another question.
   *
   * @param type an entity code of the application
   * @param id the record's identifier
   */
  public Resource {
    Reader.record(type, id);
  }
}
