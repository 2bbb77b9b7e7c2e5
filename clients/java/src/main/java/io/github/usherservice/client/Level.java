package io.github.usherservice.client;

import io.github.usherservice.client.internal.usher.permission.v1.AccessLevel;

/** What is held of a permission; in a question, the least that will do. */
public enum Level {
  /** Nothing is held. In a question: any level will do. */
  NONE(AccessLevel.ACCESS_LEVEL_UNSPECIFIED),
  /** A binary permission is held. Not for questions. */
  ALLOWED(AccessLevel.ACCESS_LEVEL_ALLOWED),
  /** A tiered permission is held for reading. */
  VIEW(AccessLevel.ACCESS_LEVEL_VIEW),
  /** A tiered permission is held for reading and writing. */
  EDIT(AccessLevel.ACCESS_LEVEL_EDIT);

  final AccessLevel message;

  Level(AccessLevel message) {
    this.message = message;
  }

  /** A level that this version does not know is nothing. */
  static Level of(AccessLevel message) {
    for (Level level : values()) if (level.message == message) return level;
    return NONE;
  }
}
