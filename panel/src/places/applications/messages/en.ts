export const messages = {
  title: 'Types & templates',
};
