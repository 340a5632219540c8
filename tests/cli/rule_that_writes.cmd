# a result that the head does not say is written would go nowhere: x would stay as it was
cat > my.rules <<'RULES'
my::scale_(Tensor x, float s) -> Tensor
    = Mul(x, s)
RULES
pt2onnx net.pt --rules my.rules
