package io.github.usherservice.client;

import java.util.List;

/**
 * A message of a watch. One without changes names the newest revision.
 *
 * @param revision everything up to this revision has been reported
 * @param changes the changes since the message before
 * @param reset whether to forget all that is held, and to go on from {@code revision}
 */
public record Changes(String revision, List<Change> changes, boolean reset) {}
