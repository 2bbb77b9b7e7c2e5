const { USHER_DOCUMENT: input, USHER_OUTPUT: target, USHER_URL: baseUrl } = process.env;

export default { usher: { input, output: { target, client: 'fetch', baseUrl } } };
