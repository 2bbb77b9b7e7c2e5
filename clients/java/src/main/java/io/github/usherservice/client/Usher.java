package io.github.usherservice.client;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Asks a service or an edge, and waits for the answer. Make one for the whole process: it holds one connection, shared by all threads.
 * A question without an answer is a {@link UsherException}.
 */
public final class Usher implements AutoCloseable {
  private final AsyncUsher async;

  Usher(AsyncUsher async) {
    this.async = async;
  }

  /**
   * Begins a client.
   *
   * @param address {@code host:port}, or a target of gRPC such as {@code dns:///usher.internal:50051}
   * @return its options
   */
  public static UsherBuilder builder(String address) {
    return new UsherBuilder(address);
  }

  /**
   * The same questions, with futures.
   *
   * @return a view of the same connection
   */
  public AsyncUsher async() {
    return async;
  }

  /**
   * The same client, for answers that are at least as fresh as a revision.
   *
   * @param revision of an earlier answer, or of the header {@code usher-revision} of a write
   * @return a view of the same connection, which needs no close of its own
   */
  public Usher atLeast(String revision) {
    return new Usher(async.atLeast(revision));
  }

  /**
   * The same client with another deadline.
   *
   * @param deadline more than zero
   * @return a view of the same connection, which needs no close of its own
   */
  public Usher within(Duration deadline) {
    return new Usher(async.within(deadline));
  }

  /**
   * Answers one question.
   *
   * @param question the question
   * @return the decision
   */
  public Decision check(Question question) {
    return UnaryCall.await(async.check(question));
  }

  /**
   * Answers one question with a boolean. Trouble is false, and a warning in the log, without the address.
   *
   * @param question the question
   * @return whether it is allowed
   * @throws InvalidQuestionException where the question is wrong: that is a mistake of the program
   */
  public boolean allowed(Question question) {
    try {
      return check(question).allowed();
    } catch (RuntimeException error) {
      return AsyncUsher.denied(question, error);
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
  public Map<String, Decision> bulkCheck(Subject subject, Collection<String> permissions, Level level) {
    return UnaryCall.await(async.bulkCheck(subject, permissions, level));
  }

  /**
   * Answers up to 1,000 questions, at one revision.
   *
   * @param questions the questions
   * @return decisions in their order
   */
  public List<Decision> batchCheck(List<Question> questions) {
    return UnaryCall.await(async.batchCheck(questions));
  }

  /**
   * Lists every permission that the application defines.
   *
   * @param subject the user, in an application
   * @return permissions, with what the user holds of each
   */
  public Effective effective(Subject subject) {
    return UnaryCall.await(async.effective(subject));
  }

  /**
   * Answers one question, with the result of each of the six rules.
   *
   * @param question the question
   * @return the decision and the rules
   */
  public Explanation explain(Question question) {
    return UnaryCall.await(async.explain(question));
  }

  /**
   * Streams everybody for whom the question, its address aside, is answered with yes. Each page is asked for when it is reached.
   *
   * @param question the question: {@link Question#ofEverybody}
   * @return a stream in a stable order
   */
  public Stream<Holder> subjects(Question question) {
    return Stream.iterate(
            page(question, ""),
            page -> page != null,
            page -> page.next().map(next -> page(question, next)).orElse(null))
        .flatMap(page -> page.holders().stream());
  }

  /**
   * Says for which records of a type the question, its record aside, is answered with yes. The deadline holds for each page.
   *
   * @param question the question
   * @param type an entity code of the application
   * @return the records: those listed, or all but those
   */
  public Reach resources(Question question, String type) {
    return UnaryCall.await(async.resources(question, type));
  }

  /**
   * Streams what changes from now on, in the named applications or in all, until it is closed. A connection that ends is opened anew
   * after the last revision, with nothing lost. An error that no retry mends is thrown.
   *
   * @param apps codes of the applications; none: all
   * @return a stream that waits for its next element; close it
   */
  public Stream<Changes> watch(String... apps) {
    return watchAfter("", apps);
  }

  /**
   * Streams what changed after a revision, as {@link #watch} does.
   *
   * @param revision the revision to begin after
   * @param apps codes of the applications; none: all
   * @return a stream that waits for its next element; close it
   */
  public Stream<Changes> watchAfter(String revision, String... apps) {
    return ChangesReader.stream(async.watch(revision, Reader.apps(apps)));
  }

  /**
   * Connects, within ten seconds: then the first question takes no longer than the others.
   *
   * @throws UsherException that says what is wrong with an address, a certificate or a key
   */
  public void ready() {
    ready(Duration.ofSeconds(10));
  }

  /**
   * Connects, within a time.
   *
   * @param time more than zero
   * @throws UsherException that says what is wrong with an address, a certificate or a key
   */
  public void ready(Duration time) {
    UnaryCall.await(async.ready(System.nanoTime() + UsherBuilder.positive(time).toNanos()));
  }

  /** Ends the connection. Calls under way are unavailable, streams of changes end. */
  @Override
  public void close() {
    async.connection.close();
  }

  private SubjectsPage page(Question question, String page) {
    return UnaryCall.await(async.subjects(question, page));
  }
}
