/** Follows the provider's redirects with its cookies until it sends the browser back with a code. */
export async function followToCode(start: URL): Promise<string> {
  const cookies = new Map<string, string>();
  let url = start;
  for (let hop = 0; hop < 10; hop++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=');
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url);
    const code = url.searchParams.get('code');
    if (code !== null) return code;
    if (url.searchParams.has('error')) throw new Error(`the provider refused: ${url.search}`);
  }
  throw new Error('the provider redirects for ever');
}
