/**
 * A text editor for manifests and templates. It is mounted in a shadow root: CodeMirror writes style sheets, and those of a shadow
 * root are adopted, which the policy allows.
 */

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  StreamLanguage,
  syntaxHighlighting,
} from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { unifiedMergeView } from '@codemirror/merge';
import { Annotation, Compartment, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export interface Fault {
  readonly message: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

interface EditorOptions {
  readonly label: string;
  readonly text: string;
  readonly language: 'yaml' | 'liquid' | 'plain';
  readonly readOnly: boolean;
  readonly onText: (text: string) => void;
}

export interface Editor {
  /** Replaces the whole text, unless it is the same. */
  setText(text: string): void;
  setFaults(faults: readonly Fault[]): void;
  /** Marks what differs from another text; null shows the text alone. */
  setOriginal(original: string | null): void;
  goTo(line: number, column: number): void;
  destroy(): void;
}

export function mountEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const merge = new Compartment();
  const view = new EditorView({ root, parent: root, state: stateOf(options, merge) });
  // A region that scrolls must be reached by keyboard.
  view.scrollDOM.tabIndex = 0;
  const at = (line: number, column: number): number => {
    const { doc } = view.state;
    const found = doc.line(Math.max(1, Math.min(line, doc.lines)));
    return Math.min(found.from + Math.max(0, column - 1), found.to);
  };
  return {
    setText: (text) => {
      if (text === view.state.doc.toString()) return;
      const changes = { from: 0, to: view.state.doc.length, insert: text };
      view.dispatch({ changes, annotations: given.of(true) });
    },
    setFaults: (faults) => {
      const diagnostics = faults.map(({ line, column, message }): Diagnostic => {
        const from = at(line, column);
        return { from, to: Math.max(from, view.state.doc.lineAt(from).to), severity: 'error', message };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    setOriginal: (original) => {
      const shown = original === null ? [] : unifiedMergeView({ original, mergeControls: false });
      view.dispatch({ effects: merge.reconfigure(shown) });
    },
    goTo: (line, column) => {
      view.dispatch({ selection: { anchor: at(line, column) }, scrollIntoView: true });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

/** Marks a text that was given, not typed: nobody is told of it. */
const given = Annotation.define<boolean>();

function stateOf({ label, text, language, readOnly, onText }: EditorOptions, merge: Compartment): EditorState {
  const extensions: Extension[] = [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    lintGutter(),
    syntaxHighlighting(colors),
    // Tab leaves the editor, as it leaves every field.
    keymap.of([...defaultKeymap, ...historyKeymap]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false' }),
    EditorView.updateListener.of(({ docChanged, transactions, state }) => {
      if (docChanged && !transactions.some((change) => change.annotation(given))) onText(state.doc.toString());
    }),
    EditorView.domEventHandlers({ beforeinput: replaceSelection }),
    theme,
    merge.of([]),
  ];
  if (language === 'yaml') extensions.push(yaml());
  if (language === 'liquid') extensions.push(liquid);
  if (readOnly) extensions.push(EditorState.readOnly.of(true));
  return EditorState.create({ doc: text, extensions });
}

/**
 * Typing over a selection. Left to itself the browser would give the typed text the looks of what it replaces, as an attribute
 * `style`, which the policy refuses and reports.
 */
function replaceSelection(event: InputEvent, view: EditorView): boolean {
  const { state } = view;
  const typed = event.inputType === 'insertText' ? event.data : null;
  if (typed === null || event.isComposing || state.readOnly || state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(state.replaceSelection(typed), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

/** Marks `{{ … }}` and `{% … %}`, and tags of HTML. */
const liquid = StreamLanguage.define<{ inside: '' | '}}' | '%}' }>({
  startState: () => ({ inside: '' }),
  token: (stream, state) => {
    if (state.inside !== '') {
      if (stream.match(state.inside)) {
        state.inside = '';
        return 'keyword';
      }
      if (stream.match(/^'[^']*'|^"[^"]*"/)) return 'string';
      if (stream.match(/^[\w.-]+/)) return 'variableName';
      stream.next();
      return null;
    }
    for (const [opening, closing] of [
      [/^\{\{-?/, '}}'],
      [/^\{%-?/, '%}'],
    ] as const) {
      if (!stream.match(opening)) continue;
      state.inside = closing;
      return 'keyword';
    }
    if (stream.match(/^<\/?[a-z][^<>{]*>?/i)) return 'tagName';
    stream.next();
    stream.eatWhile(/[^{<]/);
    return null;
  },
});

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.tagName], color: 'var(--accent)' },
  { tag: [tags.keyword, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.variableName, tags.number], color: 'var(--good)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
]);

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  // The frame around it shows the focus.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--sunken)', color: 'var(--soft)', border: '0' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--hover) 55%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selected)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-ground)', color: 'var(--bad)' },
  '.cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--good-ground)' },
  '.cm-changedText': { background: 'none', textDecoration: 'underline' },
  '.cm-deletedText': { background: 'none' },
});
