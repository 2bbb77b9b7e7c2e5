/** Completion scripts for shells. Each finds the command before the cursor, then offers the words that can follow it. */

import type { CommandNode, OptionNode } from './completion-tree.ts';

type Tree = readonly CommandNode[];

/** The path of a command as the scripts build it: ` superadmin add`; '' for the program. */
function pathOf({ names }: CommandNode): string {
  return names.map((name) => ` ${name}`).join('');
}

function childrenOf(tree: Tree, parent: CommandNode): CommandNode[] {
  return tree.filter(
    ({ names }) => names.length === parent.names.length + 1 && parent.names.every((name, i) => names[i] === name),
  );
}

function nameOf({ names }: CommandNode): string {
  return names.at(-1) ?? '';
}

/** Every option of the tree, once each. */
function optionsOf(tree: Tree): OptionNode[] {
  return [...new Map(tree.flatMap(({ options }) => options).map((option) => [option.flags.join(), option])).values()];
}

function flagsOf(options: readonly OptionNode[]): string[] {
  return options.flatMap(({ flags }) => flags);
}

/** In single quotes, which bash, zsh and fish read alike when the text has neither a quote nor a backslash. */
function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '’')}'`;
}

/** The body of the loop over the words before the cursor: finds their command. The same in bash and zsh. */
function scan(tree: Tree, skipValue: string): string {
  const valued = flagsOf(optionsOf(tree).filter(({ takesValue }) => takesValue));
  const known = tree.filter(({ names }) => names.length > 0).map((node) => quoted(pathOf(node)));
  return `    case $word in
      ${valued.join('|')}) ${skipValue}; continue ;;
      -*) continue ;;
    esac
    case "$route $word" in
      ${known.join('|')}) route="$route $word" ;;
    esac`;
}

export function bashScript(tree: Tree): string {
  const values = optionsOf(tree)
    .filter(({ takesValue }) => takesValue)
    .map(({ flags, choices, isFile }) => {
      const offer = isFile
        ? 'compopt -o default'
        : choices.length > 0
          ? `COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$cur"))`
          : ':';
      return `    ${flags.join('|')}) ${offer}; return ;;`;
    });
  const commands = tree.map((node) => {
    const words = [...childrenOf(tree, node).map(nameOf), ...node.choices];
    const files = node.takesFiles ? ' files=yes' : '';
    return `    ${quoted(pathOf(node))}) words=${quoted(words.join(' '))} options=${quoted(flagsOf(node.options).join(' '))}${files} ;;`;
  });
  return `# bash completion of usher; load it with: source <(usher completion bash)
_usher() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} route= word words= options= files= i
  COMPREPLY=()
  # --level=view comes as three words.
  if [ "$cur" = = ]; then cur=; elif [ "$prev" = = ]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
${scan(tree, `[ "\${COMP_WORDS[i+1]}" = = ] && ((i++)); ((i++))`)}
  done
  case $prev in
${values.join('\n')}
  esac
  case $route in
${commands.join('\n')}
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;
    *) if [ -n "$files" ]; then compopt -o default; else COMPREPLY=($(compgen -W "$words" -- "$cur")); fi ;;
  esac
}
complete -F _usher usher
`;
}

export function zshScript(tree: Tree): string {
  const values = optionsOf(tree)
    .filter(({ takesValue }) => takesValue)
    .map(({ flags, choices, isFile }) => {
      const offer = isFile ? '_files' : choices.length > 0 ? `compadd -- ${choices.join(' ')}` : '_message value';
      return `    ${flags.join('|')}) ${offer}; return ;;`;
    });
  const described = (name: string, text: string): string => quoted(`${name.replaceAll(':', '\\:')}:${text}`);
  const commands = tree.map((node) => {
    const children = childrenOf(tree, node).map((child) => described(nameOf(child), child.description));
    const words = [...children, ...node.choices.map(quoted)];
    const options = node.options.flatMap(({ flags, description }) => flags.map((flag) => described(flag, description)));
    const files = node.takesFiles ? ' files=yes' : '';
    return `    ${quoted(pathOf(node))}) offered=(${words.join(' ')}) flags=(${options.join(' ')})${files} ;;`;
  });
  return `#compdef usher
compdef _usher usher
_usher() {
  local cur=\${words[CURRENT]} prev=\${words[CURRENT-1]} route= word files=
  local -a offered flags
  local -i i
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
${scan(tree, '((i++))')}
  done
  case $prev in
${values.join('\n')}
  esac
  case $route in
${commands.join('\n')}
  esac
  case $cur in
    -*) _describe -o 'option' flags ;;
    *) if [ -n "$files" ]; then _files; elif (( \${#offered} > 0 )); then _describe 'command' offered; fi ;;
  esac
}
# Loaded by autoload, the file is the function; read by source, it only defines it.
if [ "$funcstack[1]" = _usher ]; then _usher; fi
`;
}

export function fishScript(tree: Tree): string {
  const lines = tree.flatMap((node) => {
    const here = quoted(conditionOf(tree, node));
    const children = childrenOf(tree, node).map(
      (child) => `complete -c usher -n ${here} -a ${nameOf(child)} -d ${quoted(child.description)}`,
    );
    const words = node.choices.length > 0 ? [`complete -c usher -n ${here} -a ${quoted(node.choices.join(' '))}`] : [];
    const files = node.takesFiles ? [`complete -c usher -n ${here} -F`] : [];
    return [...children, ...words, ...files, ...node.options.map((option) => fishOption(here, option))];
  });
  return ['# fish completion of usher', 'complete -c usher -f', ...lines].join('\n');
}

/** The condition that the cursor is after this command and before any subcommand of it. */
function conditionOf(tree: Tree, node: CommandNode): string {
  const seen = node.names.map((name) => `__fish_seen_subcommand_from ${name}`);
  const below = childrenOf(tree, node).map(nameOf);
  const notBelow = below.length > 0 ? [`not __fish_seen_subcommand_from ${below.join(' ')}`] : [];
  return [...seen, ...notBelow].join('; and ');
}

function fishOption(here: string, { flags, description, takesValue, choices, isFile }: OptionNode): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const value = !takesValue
    ? ''
    : isFile
      ? ' -r -F'
      : choices.length > 0
        ? ` -x -a ${quoted(choices.join(' '))}`
        : ' -x';
  return `complete -c usher -n ${here} ${names.join(' ')}${value} -d ${quoted(description)}`;
}
