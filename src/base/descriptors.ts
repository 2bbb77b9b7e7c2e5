/** How many descriptors this process may have open, and how many connections that leaves for its ports. */

import { readFileSync } from 'node:fs';

/** Where the system does not say. */
const USUAL = 1024;
/** Files, pipes, the embedded database, outbound connections, and the operators' listener. */
const OWN = 96;
const LEAST = 16;

/** The limit of this process. Node.js has raised it as far as it may. */
export function descriptorLimit(): number {
  try {
    const found = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    if (found !== undefined) return found === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(found);
  } catch {
    // Not Linux.
  }
  return limitOfReport();
}

function limitOfReport(): number {
  // Else it would look up the names of this machine's addresses.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = userLimits?.open_files?.soft;
  if (soft === 'unlimited') return Number.MAX_SAFE_INTEGER;
  return typeof soft === 'number' ? soft : USUAL;
}

/**
 * Connections for each port.
 *
 * @param database its connections, which must always find a descriptor
 */
export function connectionsPerPort(limit: number, database: number, ports: number): number {
  return Math.max(LEAST, Math.floor((limit - OWN - database) / Math.max(1, ports)));
}
