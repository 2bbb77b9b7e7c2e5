export const manifest = {
  title: 'Manifest',
};
