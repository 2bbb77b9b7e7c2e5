package io.github.usherservice.client;

import io.github.usherservice.client.internal.usher.permission.v1.DecisionSource;

/** The rule that granted, or denied. */
public enum Source {
  /** No rule granted. */
  NONE(DecisionSource.DECISION_SOURCE_UNSPECIFIED),
  /** A role in the application. */
  ROLE(DecisionSource.DECISION_SOURCE_ROLE),
  /** An override for the record that the question names. */
  OVERRIDE(DecisionSource.DECISION_SOURCE_OVERRIDE),
  /** The user is a SuperAdmin. */
  SUPERADMIN(DecisionSource.DECISION_SOURCE_SUPERADMIN),
  /** The user is an administrator of the application. */
  APP_ADMIN(DecisionSource.DECISION_SOURCE_APP_ADMIN);

  private final DecisionSource message;

  Source(DecisionSource message) {
    this.message = message;
  }

  static Source of(DecisionSource message) {
    for (Source source : values()) if (source.message == message) return source;
    return NONE;
  }
}
