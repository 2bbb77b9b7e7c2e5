package io.github.usherservice.client;

import java.util.Objects;

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
   * Refuses null. A half is for the service to refuse.
   *
   * @param type an entity code of the application
   * @param id the record's identifier
   */
  public Resource {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(id, "id");
  }
}
