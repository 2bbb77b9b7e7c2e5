package io.github.usherservice.client;

import io.github.usherservice.client.internal.usher.permission.v1.BatchCheckRequest;
import io.github.usherservice.client.internal.usher.permission.v1.BatchCheckResponse;
import io.github.usherservice.client.internal.usher.permission.v1.ExplainRequest;
import io.github.usherservice.client.internal.usher.permission.v1.ListResourcesResponse;
import io.github.usherservice.client.internal.usher.permission.v1.PermissionServiceGrpc;
import io.github.usherservice.client.internal.usher.permission.v1.ResourceScope;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The questions of {@link Usher}, without a thread that waits. A future fails with a {@link UsherException}; to cancel it cancels the
 * call. Futures complete on threads of gRPC, which must not be blocked for long.
 */
public final class AsyncUsher {
  private static final System.Logger LOG = System.getLogger("io.github.usherservice.client");

  private static final Duration USUAL = Duration.ofMillis(500);
  private static final Duration AGAIN = Duration.ofMillis(100);

  final Connection connection;
  /** Null: the usual one, without the time to connect. */
  private final Duration deadline;
  private final String minRevision;

  AsyncUsher(Connection connection, Duration deadline, String minRevision) {
    this.connection = connection;
    this.deadline = deadline;
    this.minRevision = minRevision;
  }

  /**
   * The same client, for answers that are at least as fresh as a revision.
   *
   * @param revision of an earlier answer, or of the header {@code usher-revision} of a write
   * @return a view of the same connection
   */
  public AsyncUsher atLeast(String revision) {
    return new AsyncUsher(connection, deadline, Reader.notNull(revision, "revision"));
  }

  /**
   * The same client with another deadline.
   *
   * @param time more than zero
   * @return a view of the same connection
   */
  public AsyncUsher within(Duration time) {
    return new AsyncUsher(connection, UsherBuilder.positive(time), minRevision);
  }

  /**
   * Answers one question.
   *
   * @param question the question
   * @return the decision
   */
  public CompletableFuture<Decision> check(Question question) {
    return reading(
        () -> Reader.check(question),
        () -> ask(PermissionServiceGrpc.getCheckMethod(), Wire.check(question, minRevision), Wire::decision));
  }

  /**
   * Answers one question with a boolean. Trouble is false, and a warning in the log, without the address.
   *
   * @param question the question
   * @return a future that fails with {@link InvalidQuestionException} alone, where the question is wrong
   */
  public CompletableFuture<Boolean> allowed(Question question) {
    CompletableFuture<Decision> decision = check(question);
    return linked(decision, decision.thenApply(Decision::allowed).exceptionally(error -> denied(question, error)));
  }

  /**
   * Answers up to 1,000 permissions of one user in one application, at one revision.
   *
   * @param subject the user, in an application
   * @param permissions codes
   * @param level the least that will do; {@link Level#NONE} for any
   * @return decisions by code
   */
  public CompletableFuture<Map<String, Decision>> bulkCheck(Subject subject, Collection<String> permissions, Level level) {
    return reading(
        () -> Reader.bulk(subject, permissions, level),
        () -> {
          var request = Wire.bulkCheck(subject, permissions, level, minRevision);
          return ask(PermissionServiceGrpc.getBulkCheckMethod(), request, Wire::decisions);
        });
  }

  /**
   * Answers up to 1,000 questions, at one revision.
   *
   * @param questions the questions
   * @return decisions in their order
   */
  public CompletableFuture<List<Decision>> batchCheck(List<Question> questions) {
    return reading(
        () -> Reader.batch(questions),
        () -> {
          BatchCheckRequest.Builder request = BatchCheckRequest.newBuilder().setMinRevision(minRevision);
          for (Question question : questions) request.addChecks(Wire.check(question, ""));
          int count = request.getChecksCount();
          return ask(PermissionServiceGrpc.getBatchCheckMethod(), request.build(), answer -> decisions(answer, count));
        });
  }

  /**
   * Lists every permission that the application defines.
   *
   * @param subject the user, in an application
   * @return permissions, with what the user holds of each
   */
  public CompletableFuture<Effective> effective(Subject subject) {
    return reading(
        () -> Reader.subject(subject),
        () -> ask(PermissionServiceGrpc.getEffectiveMethod(), Wire.effective(subject, minRevision), Wire::effective));
  }

  /**
   * Answers one question, with the result of each of the six rules.
   *
   * @param question the question
   * @return the decision and the rules
   */
  public CompletableFuture<Explanation> explain(Question question) {
    return reading(
        () -> Reader.check(question),
        () -> {
          ExplainRequest request = ExplainRequest.newBuilder().setCheck(Wire.check(question, minRevision)).build();
          return ask(PermissionServiceGrpc.getExplainMethod(), request, Wire::explanation);
        });
  }

  /**
   * The first page of those for whom the question, its address aside, is answered with yes.
   *
   * @param question the question: {@link Question#ofEverybody}
   * @return a page
   */
  public CompletableFuture<SubjectsPage> subjects(Question question) {
    return subjects(question, "");
  }

  /**
   * A page of those for whom the question, its address aside, is answered with yes.
   *
   * @param question the question of the first page
   * @param page {@link SubjectsPage#next} of the page before
   * @return a page
   */
  public CompletableFuture<SubjectsPage> subjects(Question question, String page) {
    return reading(
        () -> {
          Reader.everybody(question);
          Reader.notNull(page, "page");
        },
        () -> {
          var request = Wire.subjects(question, page, minRevision);
          return ask(PermissionServiceGrpc.getListSubjectsMethod(), request, Wire::subjectsPage);
        });
  }

  /**
   * Says for which records of a type the question, its record aside, is answered with yes. The deadline holds for each page.
   *
   * @param question the question
   * @param type an entity code of the application
   * @return the records: those listed, or all but those
   */
  public CompletableFuture<Reach> resources(Question question, String type) {
    return reading(() -> Reader.records(question, type), () -> resources(question, type, "", new ArrayList<>()));
  }

  /**
   * Reports what changes, for ever. A stream that ends is opened anew after the last revision, with nothing lost. A subscriber that
   * asks for one message at a time is never overrun; an error that no retry mends is passed to it. It completes when the client is
   * closed.
   *
   * @param since a revision to begin after; empty: from now on
   * @param apps codes of the applications; none: all
   * @return a publisher; each subscriber gets a stream of its own
   */
  public Flow.Publisher<Changes> watch(String since, Collection<String> apps) {
    Reader.notNull(since, "since");
    List<String> named = Reader.apps(apps);
    return subscriber -> new WatchSubscription(connection, since, named, subscriber).begin();
  }

  private CompletableFuture<Reach> resources(Question question, String type, String page, List<String> ids) {
    var request = Wire.resources(question, type, page, minRevision);
    CompletableFuture<ListResourcesResponse> one =
        ask(PermissionServiceGrpc.getListResourcesMethod(), request, Function.identity());
    CompletableFuture<Reach> all =
        one.thenCompose(
            answer -> {
              ids.addAll(answer.getResourceIdsList());
              if (!answer.getNextPageToken().isEmpty()) return resources(question, type, answer.getNextPageToken(), ids);
              boolean isAll = answer.getScope() == ResourceScope.RESOURCE_SCOPE_ALL_EXCEPT;
              return CompletableFuture.completedFuture(new Reach(isAll, List.copyOf(ids), answer.getRevision()));
            });
    return linked(one, all);
  }

  /** Connects, and is done once the service has answered, or cannot in that time. */
  CompletableFuture<Void> ready(long until) {
    var nobody = Wire.check(new Question("nobody@usher.invalid", "usher", "ready"), "");
    Duration left = Duration.ofNanos(Math.max(1, until - System.nanoTime()));
    return begin(PermissionServiceGrpc.getCheckMethod(), nobody, left, Wire::decision)
        .handle((answer, error) -> {
          // A question about nobody: the answer is no, or a refusal of the question.
          Throwable cause = error instanceof CompletionException ? error.getCause() : error;
          if (cause == null || cause instanceof InvalidQuestionException) return CompletableFuture.<Void>completedFuture(null);
          boolean isOver = System.nanoTime() + AGAIN.toNanos() >= until || !(cause instanceof UnavailableException);
          if (isOver) return CompletableFuture.<Void>failedFuture(cause);
          var later = CompletableFuture.delayedExecutor(AGAIN.toMillis(), TimeUnit.MILLISECONDS);
          return CompletableFuture.runAsync(() -> {}, later).thenCompose(nothing -> ready(until));
        })
        .thenCompose(Function.identity());
  }

  private static <T> CompletableFuture<T> reading(Runnable read, Supplier<CompletableFuture<T>> ask) {
    try {
      read.run();
    } catch (InvalidQuestionException error) {
      return CompletableFuture.failedFuture(error);
    }
    return ask.get();
  }

  private <Q, A, T> CompletableFuture<T> ask(MethodDescriptor<Q, A> method, Q request, Function<A, T> read) {
    if (deadline != null) return begin(method, request, deadline, read);
    if (connection.beginning.isOver()) return begin(method, request, USUAL, read);
    CompletableFuture<T> answer = new CompletableFuture<>();
    connection.beginning.connected(USUAL).thenAccept(time -> {
      if (answer.isDone()) return;
      CompletableFuture<T> call = begin(method, request, time, read);
      call.whenComplete((value, error) -> {
        if (error == null) answer.complete(value);
        else answer.completeExceptionally(error);
      });
      // Whoever does not wait any longer ends the call.
      answer.whenComplete((value, error) -> call.cancel(true));
    });
    return answer;
  }

  private <Q, A, T> CompletableFuture<T> begin(
      MethodDescriptor<Q, A> method, Q request, Duration time, Function<A, T> read) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(time.toNanos(), TimeUnit.NANOSECONDS);
    return UnaryCall.begin(connection.call(method, options), request, read, connection.beginning);
  }

  private static List<Decision> decisions(BatchCheckResponse answer, int count) {
    if (answer.getResultsCount() != count) {
      throw Failures.of(Status.Code.INTERNAL, "The answers do not match the questions.", null);
    }
    return answer.getResultsList().stream()
        .map(one -> new Decision(one.getAllowed(), Level.of(one.getAccessLevel()), Source.of(one.getSource()), answer.getRevision()))
        .toList();
  }

  static boolean denied(Question question, Throwable error) {
    Throwable cause = error.getCause() != null && !(error instanceof UsherException) ? error.getCause() : error;
    // A mistake of the program, and no trouble. A revision that the service does not know is one of a database that was restored.
    if (cause instanceof InvalidQuestionException wrong && !wrong.reason().equals("UNKNOWN_REVISION")) throw wrong;
    String about = question == null ? "nothing" : question.permission() + " in " + question.app();
    LOG.log(System.Logger.Level.WARNING, "no answer about {0}: {1} Denied.", about, cause.getMessage());
    return false;
  }

  /** To cancel the result cancels the call that it is made from. */
  private static <T> CompletableFuture<T> linked(CompletableFuture<?> call, CompletableFuture<T> result) {
    result.whenComplete((value, error) -> {
      if (result.isCancelled()) call.cancel(true);
    });
    return result;
  }
}
