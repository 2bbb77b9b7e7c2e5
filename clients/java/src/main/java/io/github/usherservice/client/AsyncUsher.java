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
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The questions of {@link Usher}, without a thread that waits. A future fails with a {@link UsherException}; to cancel it cancels the
 * call. Futures complete on threads of gRPC, which must not be blocked for long.
 */
public final class AsyncUsher {
  private static final System.Logger LOG = System.getLogger("io.github.usherservice.client");

  final Connection connection;
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
    return new AsyncUsher(connection, deadline, Objects.requireNonNull(revision, "revision"));
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
    return ask(PermissionServiceGrpc.getCheckMethod(), Wire.check(question, minRevision), Wire::decision);
  }

  /**
   * Answers one question with a boolean. Trouble is false, and a warning in the log, without the address.
   *
   * @param question the question
   * @return a future that never fails
   */
  public CompletableFuture<Boolean> allowed(Question question) {
    try {
      CompletableFuture<Decision> decision = check(question);
      return linked(decision, decision.thenApply(Decision::allowed).exceptionally(error -> denied(question, error)));
    } catch (RuntimeException error) {
      return CompletableFuture.completedFuture(denied(question, error));
    }
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
    var request = Wire.bulkCheck(subject, permissions, level, minRevision);
    return ask(PermissionServiceGrpc.getBulkCheckMethod(), request, Wire::decisions);
  }

  /**
   * Answers up to 1,000 questions, at one revision.
   *
   * @param questions the questions
   * @return decisions in their order
   */
  public CompletableFuture<List<Decision>> batchCheck(List<Question> questions) {
    BatchCheckRequest.Builder request = BatchCheckRequest.newBuilder().setMinRevision(minRevision);
    for (Question question : questions) request.addChecks(Wire.check(question, ""));
    int count = request.getChecksCount();
    return ask(PermissionServiceGrpc.getBatchCheckMethod(), request.build(), answer -> decisions(answer, count));
  }

  /**
   * Lists every permission that the application defines.
   *
   * @param subject the user, in an application
   * @return permissions, with what the user holds of each
   */
  public CompletableFuture<Effective> effective(Subject subject) {
    return ask(PermissionServiceGrpc.getEffectiveMethod(), Wire.effective(subject, minRevision), Wire::effective);
  }

  /**
   * Answers one question, with the result of each of the six rules.
   *
   * @param question the question
   * @return the decision and the rules
   */
  public CompletableFuture<Explanation> explain(Question question) {
    ExplainRequest request = ExplainRequest.newBuilder().setCheck(Wire.check(question, minRevision)).build();
    return ask(PermissionServiceGrpc.getExplainMethod(), request, Wire::explanation);
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
    var request = Wire.subjects(question, page, minRevision);
    return ask(PermissionServiceGrpc.getListSubjectsMethod(), request, Wire::subjectsPage);
  }

  /**
   * Says for which records of a type the question, its record aside, is answered with yes. The deadline holds for each page.
   *
   * @param question the question
   * @param type an entity code of the application
   * @return the records: those listed, or all but those
   */
  public CompletableFuture<Reach> resources(Question question, String type) {
    return resources(question, type, "", new ArrayList<>());
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
    Objects.requireNonNull(since, "since");
    List<String> named = List.copyOf(apps);
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

  private <Q, A, T> CompletableFuture<T> ask(MethodDescriptor<Q, A> method, Q request, Function<A, T> read) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(deadline.toNanos(), TimeUnit.NANOSECONDS);
    return UnaryCall.begin(connection.call(method, options), request, read);
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
