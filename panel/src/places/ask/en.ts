export const ask = {
  title: 'Ask',
};
