/** The only script of the mailbox's list, allowed by its hash: it reloads the list and inserts new mails. */

/** Browser code is kept as text: this project is compiled without the types of a browser. */
export const MAILBOX_SCRIPT = `
'use strict';
const EVERY_MS = 3000;
const AWAY_MS = 10000;
const at = (id) => document.getElementById(id);
const say = (id, text) => {
  if (at(id).textContent !== text) at(id).textContent = text;
};

/* A row that stays is not touched but for its time, so neither the focus nor a selection is lost. */
function merge(next) {
  const list = at('mails');
  const gone = new Map([...list.children].map((row) => [row.id, row]));
  let place = list.firstElementChild;
  for (const row of [...next.getElementById('mails').children]) {
    const known = gone.get(row.id);
    if (known === undefined) {
      list.insertBefore(row, place);
      continue;
    }
    gone.delete(row.id);
    const [time, newer] = [known, row].map((one) => one.querySelector('time'));
    if (time.textContent !== newer.textContent) time.textContent = newer.textContent;
    place = known.nextElementSibling;
  }
  for (const row of gone.values()) row.remove();
  say('count', next.getElementById('count').textContent);
}

let timer;
async function refresh() {
  clearTimeout(timer);
  if (document.hidden) return;
  let wait = EVERY_MS;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' });
    if (!answer.ok) throw new Error(String(answer.status));
    merge(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    say('live', 'This list refreshes by itself.');
  } catch {
    say('live', 'Usher does not answer. Trying again every ' + AWAY_MS / 1000 + ' seconds.');
    wait = AWAY_MS;
  }
  clearTimeout(timer);
  timer = setTimeout(refresh, wait);
}
document.addEventListener('visibilitychange', refresh);
say('live', 'This list refreshes by itself.');
timer = setTimeout(refresh, EVERY_MS);
`;
