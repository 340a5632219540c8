# a rule's result would go nowhere: x would stay as it was
cat > my.rules <<'RULES'
my::scale_(Tensor(a!) x, float s) -> Tensor(a!)
    = Mul(x, s)
RULES
pt2onnx net.pt --rules my.rules
