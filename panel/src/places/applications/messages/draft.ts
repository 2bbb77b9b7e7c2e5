/** A template as it is being written. */

export interface Content {
  readonly subject: string;
  readonly html: string;
  readonly text: string | null;
  readonly pushTitle: string | null;
  readonly pushBody: string | null;
  readonly url: string | null;
  readonly requiredVariables: readonly string[];
}

export interface Draft {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
  readonly pushTitle: string;
  readonly pushBody: string;
  readonly url: string;
  /** Names with commas between. */
  readonly required: string;
}

export function draftOf(content: Content | null): Draft {
  return {
    subject: content?.subject ?? '',
    html: content?.html ?? '<p></p>\n',
    text: content?.text ?? '',
    pushTitle: content?.pushTitle ?? '',
    pushBody: content?.pushBody ?? '',
    url: content?.url ?? '',
    required: (content?.requiredVariables ?? []).join(', '),
  };
}

/** What is stored: a part that is empty is absent. */
export function contentOf({ subject, html, text, pushTitle, pushBody, url, required }: Draft) {
  const names = required.split(',').map((name) => name.trim());
  return {
    subject,
    html,
    text: text || null,
    pushTitle: pushTitle || null,
    pushBody: pushBody || null,
    url: url || null,
    requiredVariables: [...new Set(names)].filter((name) => name !== ''),
  };
}

/** Where the service found a part that does not parse. */
export function placesOf(
  issues: readonly unknown[],
  part: string,
): { message: string; line: number; column: number }[] {
  return issues.flatMap((issue) => {
    const {
      path,
      message = '',
      line = 1,
      column = 1,
    } = issue as {
      path?: string;
      message?: string;
      line?: number;
      column?: number;
    };
    return path === part ? [{ message, line, column }] : [];
  });
}
