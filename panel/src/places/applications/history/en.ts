export const history = {
  title: 'History',
};
