package io.github.usherservice.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A service of a test's own, with its data in a folder; and the command line of any. */
final class Service implements AutoCloseable {
  private static final Pattern READY = Pattern.compile("\"(http://[^\"]*)\".*\"grpc\":\"([^\"]*)\".*\"msg\":\"ready\"");
  private static final Duration START = Duration.ofSeconds(90);

  private final Process process;
  final String http;
  final String grpc;

  private Service(Process process, String http, String grpc) {
    this.process = process;
    this.http = http;
    this.grpc = grpc;
  }

  /** Starts one. The port 0 picks a free one. */
  static Service start(Path data, int port) throws IOException, InterruptedException {
    Path log = Files.createTempFile(data, "service", ".log");
    ProcessBuilder builder = command(List.of("serve"), data);
    builder.environment().putAll(Map.of("HTTP_PORT", "0", "GRPC_PORT", Integer.toString(port)));
    Process process = builder.redirectErrorStream(true).redirectOutput(log.toFile()).start();
    Instant end = Instant.now().plus(START);
    while (Instant.now().isBefore(end) && process.isAlive()) {
      Matcher ready = READY.matcher(Files.readString(log));
      if (ready.find()) return new Service(process, ready.group(1), ready.group(2));
      Thread.sleep(100);
    }
    process.destroyForcibly();
    throw new IllegalStateException("The service did not start: " + Files.readString(log));
  }

  int port() {
    return Integer.parseInt(grpc.substring(grpc.lastIndexOf(':') + 1));
  }

  /** Kills it, without time to say goodbye. */
  void kill() {
    process.destroyForcibly().onExit().join();
  }

  @Override
  public void close() {
    process.destroy();
    process.onExit().join();
  }

  /** Runs a command of the command line to its end, as `usher grant stranger@example.com atelier accountant`. */
  static void run(Path data, String url, String... words) throws IOException, InterruptedException {
    ProcessBuilder builder = command(List.of(words), data);
    builder.environment().put("USHER_URL", url);
    Process process = builder.redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) throw new IllegalStateException(output);
  }

  private static ProcessBuilder command(List<String> words, Path data) {
    List<String> all = new ArrayList<>(List.of("node", Doors.environment("USHER_MAIN")));
    all.addAll(words);
    ProcessBuilder builder = new ProcessBuilder(all);
    builder.environment().put("DATA_DIR", data.toString());
    return builder;
  }
}
