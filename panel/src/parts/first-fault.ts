/** Where somebody goes on after a save was refused. */

const FAULT = '[aria-invalid=true]';

/** Puts the focus into the first field that the service found a fault in, once the fault is drawn. */
export function goToFault(): void {
  requestAnimationFrame(() => setTimeout(() => firstFault()?.focus()));
}

/** Of the dialog that is open, else of the page. */
function firstFault(): HTMLElement | null {
  const dialogs = document.querySelectorAll('dialog[open]');
  return ([...dialogs].at(-1) ?? document).querySelector<HTMLElement>(FAULT);
}
