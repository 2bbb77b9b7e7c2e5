import type { Adapter, AdapterPayload } from 'oidc-provider';

/** What the provider stores, for as long as a test runs; rotation of keys keeps it. */
export function memoryAdapter(stored: Map<string, AdapterPayload>, model: string): Adapter {
  const values = () => [...stored].filter(([key]) => key.startsWith(`${model}:`)).map(([, value]) => value);
  return {
    upsert: async (id, payload) => void stored.set(`${model}:${id}`, payload),
    find: async (id) => stored.get(`${model}:${id}`),
    findByUid: async (uid) => values().find((value) => value.uid === uid),
    findByUserCode: async (userCode) => values().find((value) => value.userCode === userCode),
    destroy: async (id) => void stored.delete(`${model}:${id}`),
    consume: async (id) => {
      const value = stored.get(`${model}:${id}`);
      if (value) value.consumed = Math.floor(Date.now() / 1000);
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, value] of stored) if (value.grantId === grantId) stored.delete(key);
    },
  };
}
