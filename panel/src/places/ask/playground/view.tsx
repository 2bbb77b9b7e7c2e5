export default function PlaygroundView() {
  return null;
}
