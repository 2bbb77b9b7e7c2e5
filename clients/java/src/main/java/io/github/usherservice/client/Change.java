package io.github.usherservice.client;

import java.util.Optional;

/**
 * Whose decisions may have changed.
 *
 * @param kind the extent of the change
 * @param app the application's code, where the change is about one
 * @param email the user's address, where the change is about one
 */
public record Change(Kind kind, Optional<String> app, Optional<String> email) {
  /** The extent of a change. */
  public enum Kind {
    /** The permissions and roles that an application defines, or whether it exists. */
    APPLICATION,
    /** All decisions in an application. */
    EVERYTHING_IN_APPLICATION,
    /** The decisions about one user in one application. */
    MEMBER,
    /** The decisions about one user everywhere. */
    USER,
    /** All decisions. Also reported for a kind that this version does not know. */
    EVERYTHING
  }
}
