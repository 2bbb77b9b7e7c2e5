package io.github.usherservice.client;

import java.util.Optional;

/**
 * What became of a notification for one address. It is stored: then it will be delivered.
 *
 * @param id of the notification
 * @param email the address
 * @param status {@code queued}, or {@code suppressed}
 * @param statusReason why, where there is a reason
 */
public record Accepted(long id, String email, String status, Optional<String> statusReason) {}
